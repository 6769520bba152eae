import { Auth } from "../../auth/index.ts";
import type { Container } from "../../kernel/index.ts";
import type { Router } from "../../routing/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../../support/index.ts";
import type { GrantedAbilities } from "../abilities.ts";
import type { TokenEvents } from "../events.ts";
import { type CompleteDriverSettings, type CompleteJwtSettings, DRIVERS_PLACE } from "../settings/driver-settings.ts";
import type { PersonalStore } from "../stores/personal-store.ts";
import type { FoundToken, Verifier } from "../verifier.ts";
import type { Issuer } from "./issuer.ts";
import "../errors.ts";
import "../../kernel/index.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** Issues, verifies and renews the tokens of the first driver that issues any. */
    api: Issuer;
    /** The drivers of API tokens. */
    apiDrivers: Drivers;
  }
}

/** The name of the route that issues tokens. A named driver's route has the driver's name as a prefix. */
export const LOGIN_ROUTE = "api.auth";

/** A driver of API tokens: an entry of `DRIVERS`, with a guard of the same name. */
export interface Driver {
  readonly name: string;
  readonly settings: CompleteDriverSettings;
  readonly events: TokenEvents;
  /** The verifiers for the kinds of tokens that it accepts. The first one that recognizes a token verifies it. */
  readonly verifiers: readonly Verifier[];
  /** Issues the driver's tokens; `null` if they come from another issuer. */
  readonly issuer: Issuer | null;
  /** Its users' personal tokens; `null` without the setting `personal`. */
  readonly personal: PersonalStore | null;
}

/** The application's drivers of API tokens, in the order of `DRIVERS`. Bound to the container as `apiDrivers`. */
export class Drivers {
  readonly all: readonly Driver[];
  /** The application's abilities. */
  readonly abilities: GrantedAbilities;
  /** The drivers by name. */
  readonly byName: ReadonlyMap<string, Driver>;
  readonly #router: () => Router | null;

  /**
   * @param router returns the router once there is one, for {@link loginUrl}
   * @throws `E_INVALID_CONFIGURATION` if two drivers could accept each other's tokens
   */
  constructor(all: readonly Driver[], abilities: GrantedAbilities, router: () => Router | null) {
    this.#router = router;
    this.all = all;
    this.abilities = abilities;
    this.byName = new Map(all.map((driver) => [driver.name, driver]));
    all.forEach((driver, index) => {
      for (const other of all.slice(0, index)) requireApart(other, driver);
    });
  }

  /** @throws `E_UNKNOWN_GUARD` if no driver has this name, suggesting similar ones */
  of(name: string): Driver {
    const driver = this.byName.get(name);
    if (driver !== undefined) return driver;
    const problem = `No driver of API tokens is named "${name}". ${suggestion(name, [...this.byName.keys()])}`;
    throw new AshlarError("E_UNKNOWN_GUARD", problem.trim());
  }

  /**
   * The issuer of a driver's tokens.
   *
   * @param name the driver's name; default: the first driver that issues tokens
   * @throws `E_UNKNOWN_GUARD` if no driver has this name; `E_UNKNOWN_SERVICE` if it does not issue tokens
   */
  issuer(name: string | null = null): Issuer {
    const found = this.#named(name).find(({ issuer }) => issuer !== null)?.issuer ?? null;
    if (found !== null) return found;
    const which = name === null ? "No entry of DRIVERS" : `The driver "${name}"`;
    throw new AshlarError("E_UNKNOWN_SERVICE", `${which} in config/api.ts does not issue tokens.`);
  }

  /**
   * A driver's personal tokens.
   *
   * @param name the driver's name; default: the first driver with personal tokens
   * @throws `E_UNKNOWN_GUARD` if no driver has this name; `E_UNKNOWN_SERVICE` without personal tokens
   */
  personal(name: string | null = null): PersonalStore {
    const found = this.#named(name).find(({ personal }) => personal !== null)?.personal ?? null;
    if (found !== null) return found;
    const lacking =
      name === null ? "No entry of DRIVERS in config/api.ts has" : `DRIVERS.${name} in config/api.ts has no`;
    const problem = `${lacking} personal tokens.`;
    throw new AshlarError("E_UNKNOWN_SERVICE", `${problem} Add personal: personal(), from "ashlar/api".`);
  }

  /** The URL of an issuer's endpoint for new tokens, one of `Api.routes()`; `null` if there isn't one. */
  loginUrl(issuer: Issuer): string | null {
    const router = this.#router();
    const names = [`${issuer.name}.${LOGIN_ROUTE}`, ...(issuer === this.issuer() ? [LOGIN_ROUTE] : [])];
    const name = names.find((one) => router?.routes.some((route) => route.name === one));
    return name === undefined ? null : router!.to(name);
  }

  /** The issuer for users of a class, or else the issuer of the first driver that issues tokens. */
  issuerFor(userClass: object): Issuer {
    const own = this.all.find(
      ({ issuer, settings }) => issuer !== null && Auth.isUserClassOf(userClass, settings.model),
    );
    return own?.issuer ?? this.issuer();
  }

  /** The personal tokens for users of a class; `null` if no driver with these users has personal tokens. */
  findPersonal(userClass: object): PersonalStore | null {
    // The same key in another class belongs to another person.
    const isOwn = ({ personal, settings }: Driver) =>
      personal !== null && Auth.isUserClassOf(userClass, settings.model);
    return this.all.find(isOwn)?.personal ?? null;
  }

  /**
   * The personal tokens for users of a class.
   *
   * @throws `E_UNKNOWN_SERVICE` if no driver with these users has personal tokens
   */
  personalFor(userClass: object): PersonalStore {
    const personal = this.findPersonal(userClass);
    if (personal !== null) return personal;
    const { name } = userClass as { readonly name: string };
    const problem = `No entry of DRIVERS in config/api.ts has personal tokens for users of the class ${name}.`;
    throw new AshlarError("E_UNKNOWN_SERVICE", `${problem} ${remedyFor(name)}`);
  }

  /**
   * The driver that issued a token, even if the token can no longer be used: either the driver signed it, or has a row
   * for it, or the driver's issuer signed it for this application. `null` if there isn't one.
   *
   * @throws `E_ISSUER_UNAVAILABLE` if it may be a token of another issuer whose keys could not be fetched
   */
  async driverOf(token: string): Promise<Driver | null> {
    for (const driver of this.all) if ((await findIssued(driver, token)) !== null) return driver;
    let isUnknown = false;
    for (const driver of this.all) {
      for (const verifier of driver.verifiers) {
        const isSigned = (await verifier.isSignedElsewhere?.(token)) ?? false;
        if (isSigned === true) return driver;
        isUnknown ||= isSigned === "unknown";
      }
    }
    if (isUnknown) throw new AshlarError("E_ISSUER_UNAVAILABLE");
    return null;
  }

  #named(name: string | null): readonly Driver[] {
    return name === null ? this.all : [this.of(name)];
  }
}

/**
 * The application's drivers of API tokens, for features that require one.
 *
 * @throws `E_UNKNOWN_SERVICE` if the application has no API tokens
 */
export function driversOf(container: Container): Drivers {
  if (container.has("apiDrivers")) return container.make("apiDrivers");
  const remedy = "Add ApiProvider to PROVIDERS in config/providers.ts.";
  throw new AshlarError("E_UNKNOWN_SERVICE", `The application has no API tokens. ${remedy}`);
}

/** Finds a token that a driver issued, no matter how long ago; `null` if the driver didn't issue it. */
export async function findIssued({ personal, issuer }: Driver, token: string): Promise<FoundToken | null> {
  if (personal?.recognizes(token)) return personal.findIssued(token);
  const owner = issuer?.store.ownerOf(token) ?? null;
  return owner === null ? null : { owner, revoke: (address) => issuer!.revoke(token, address) };
}

/** Explains, for messages, how to enable personal tokens for users of a class. */
export function remedyFor(model: string): string {
  return `Add personal: personal(), from "ashlar/api", to the entry whose model is ${model}.`;
}

/**
 * The `sub` of one driver's token must never be taken for a key of another driver's users.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
function requireApart({ settings: one }: Driver, { settings: other }: Driver): void {
  const where = `${DRIVERS_PLACE}.${other.name}`;
  if (one.kind === "issuing" && other.kind === "issuing") {
    requireIssuersApart(one, other, where);
    return;
  }
  // We don't know which keys another issuer will publish, so its name and the audience have to differ.
  if (one.issuer !== other.issuer || one.audience !== other.audience) return;
  const problem = `it has the same issuer and audience as "${one.name}", so each of the two could accept the other's tokens.`;
  throw new ConfigurationError(where, problem, "Use one driver, or give each its own audience.");
}

function requireIssuersApart(one: CompleteJwtSettings, other: CompleteJwtSettings, where: string): void {
  const isShared = one.verificationKeys.some((key) => other.verificationKeys.some((another) => key.isSameAs(another)));
  if (isShared && !differ(one.issuer, other.issuer) && !differ(one.audience, other.audience)) {
    const problem = `it has the same key as "${one.name}", so each of the two would accept the other's tokens.`;
    const remedy = "Give it its own secret, or give both an audience (or an issuer), and not the same.";
    throw new ConfigurationError(where, problem, remedy);
  }
  const areSingle = one.tokens.kind === "single" && other.tokens.kind === "single";
  if (!areSingle || !Auth.keepsSameRows(one.model, other.model)) return;
  const problem = `its users are those of "${one.name}", who have one token at a time: a login with one driver would end that of the other.`;
  throw new ConfigurationError(where, problem, "Set tokens: many() for one of the two.");
}

function differ(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other;
}
