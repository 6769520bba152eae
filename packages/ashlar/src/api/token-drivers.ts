import { isUserClassOf, keepsSameRows } from "../auth/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../support/index.ts";
import type { GrantedAbilities } from "./abilities.ts";
import { ownerOf, type PersonalTokenService } from "./personal/personal-token-service.ts";
import { type CompleteDriverSettings, type CompleteJwtSettings, DRIVERS_PLACE } from "./settings.ts";
import type { TokenEvents } from "./token-events.ts";
import type { TokenService } from "./token-service.ts";
import type { TokenVerifier } from "./token-verifier.ts";
import "../kernel/index.ts";
import "./errors.ts";

/** A driver of API tokens: an entry of `DRIVERS`, with a guard of the same name. */
export interface TokenDriver {
  readonly name: string;
  readonly settings: CompleteDriverSettings;
  readonly events: TokenEvents;
  /** The kinds of tokens that it accepts: the first that recognizes a token verifies it. */
  readonly verifiers: readonly TokenVerifier[];
  /** Issues its tokens; `null` if another issuer does. */
  readonly service: TokenService | null;
  /** Its users' personal tokens; `null` without the setting `personal`. */
  readonly personal: PersonalTokenService | null;
}

/** The application's drivers of API tokens, in the order of `DRIVERS`. Bound to the container as `apiDrivers`. */
export class TokenDrivers {
  /** The application's abilities. */
  readonly abilities: GrantedAbilities;
  readonly #drivers: ReadonlyMap<string, TokenDriver>;

  /** @throws `E_INVALID_CONFIGURATION` if two drivers could accept each other's tokens */
  constructor(drivers: readonly TokenDriver[], abilities: GrantedAbilities) {
    this.abilities = abilities;
    this.#drivers = new Map(drivers.map((driver) => [driver.name, driver]));
    drivers.forEach((driver, index) => {
      for (const other of drivers.slice(0, index)) requireApart(other, driver);
    });
  }

  [Symbol.iterator](): Iterator<TokenDriver> {
    return this.#drivers.values();
  }

  get names(): readonly string[] {
    return [...this.#drivers.keys()];
  }

  /** The driver that is meant if none is named. */
  get first(): TokenDriver {
    return this.#drivers.values().next().value!;
  }

  /** @throws `E_UNKNOWN_GUARD` if no driver has this name, suggesting similar ones */
  of(name: string): TokenDriver {
    const driver = this.#drivers.get(name);
    if (driver !== undefined) return driver;
    const problem = `No driver of API tokens is named "${name}". ${suggestion(name, this.names)}`;
    throw new AshlarError("E_UNKNOWN_GUARD", problem.trim());
  }

  /**
   * The service that issues a driver's tokens.
   *
   * @param name default: the first driver that issues tokens
   * @throws `E_UNKNOWN_GUARD` if no driver has this name; `E_UNKNOWN_SERVICE` if it does not issue tokens
   */
  service(name: string | null = null): TokenService {
    const drivers = name === null ? [...this] : [this.of(name)];
    const service = drivers.find((driver) => driver.service !== null)?.service ?? null;
    if (service !== null) return service;
    const which = name === null ? "No entry of DRIVERS" : `The driver "${name}"`;
    throw new AshlarError("E_UNKNOWN_SERVICE", `${which} in config/api.ts does not issue tokens.`);
  }

  /**
   * The service for a driver's personal tokens.
   *
   * @param name default: the first driver that has any
   * @throws `E_UNKNOWN_GUARD` if no driver has this name; `E_UNKNOWN_SERVICE` without personal tokens
   */
  personal(name: string | null = null): PersonalTokenService {
    const drivers = name === null ? [...this] : [this.of(name)];
    const service = drivers.find(({ personal }) => personal !== null)?.personal ?? null;
    if (service !== null) return service;
    const lacking =
      name === null ? "No entry of DRIVERS in config/api.ts has" : `DRIVERS.${name} in config/api.ts has no`;
    const problem = `${lacking} personal tokens.`;
    throw new AshlarError("E_UNKNOWN_SERVICE", `${problem} Add personal: personal(), from "ashlar/api".`);
  }

  /**
   * @internal The driver that issued a token, whether or not it can still be used: it has signed it, or has a row of it, or
   * its issuer has signed it for this application. `null` if none has.
   *
   * @throws `E_ISSUER_UNAVAILABLE` if it may be a token of another issuer whose keys could not be fetched
   */
  async issuerOf(token: string): Promise<TokenDriver | null> {
    for (const driver of this) {
      const { personal, service } = driver;
      const owner = personal?.recognizes(token) ? ownerOf(await personal.find(token)) : service?.subjectOf(token);
      if ((owner ?? null) !== null) return driver;
    }
    return this.#foreignIssuerOf(token);
  }

  async #foreignIssuerOf(token: string): Promise<TokenDriver | null> {
    let isUnknown = false;
    for (const driver of this) {
      for (const verifier of driver.verifiers) {
        const isSigned = (await verifier.isSignedElsewhere?.(token)) ?? false;
        if (isSigned === true) return driver;
        isUnknown ||= isSigned === "unknown";
      }
    }
    if (isUnknown) throw new AshlarError("E_ISSUER_UNAVAILABLE");
    return null;
  }

  /**
   * The service for the personal tokens of users of a class.
   *
   * @throws `E_UNKNOWN_SERVICE` if no driver with these users has any
   */
  personalFor(userClass: object): PersonalTokenService {
    const service = this.findPersonal(userClass);
    if (service !== null) return service;
    const { name } = userClass as { readonly name: string };
    const problem = `No entry of DRIVERS in config/api.ts has personal tokens for users of the class ${name}.`;
    throw new AshlarError("E_UNKNOWN_SERVICE", `${problem} ${remedyFor(name)}`);
  }

  /** @internal The service for the personal tokens of users of a class; `null` if no driver with these users has any. */
  findPersonal(userClass: object): PersonalTokenService | null {
    // The key of another class's user is the key of another person.
    const own = [...this].find(
      ({ personal, settings }) => personal !== null && isUserClassOf(userClass, settings.model),
    );
    return own?.personal ?? null;
  }

  /** The service that issues tokens for users of a class; if there is none, the first one. */
  serviceFor(userClass: object): TokenService {
    const own = [...this].find(({ service, settings }) => service !== null && isUserClassOf(userClass, settings.model));
    return own?.service ?? this.service();
  }
}

/** What gives users of a class personal tokens. */
export function remedyFor(model: string): string {
  return `Add personal: personal(), from "ashlar/api", to the entry whose model is ${model}.`;
}

/**
 * The `sub` of one driver's token must never be taken for a key of another driver's users.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
function requireApart({ settings: one }: TokenDriver, { settings: other }: TokenDriver): void {
  const where = `${DRIVERS_PLACE}.${other.name}`;
  if (one.kind === "issuing" && other.kind === "issuing") {
    requireIssuersApart(one, other, where);
    return;
  }
  // Which keys another issuer will publish is not known here, so its name and the audience have to differ.
  if (one.issuer !== other.issuer || one.audience !== other.audience) return;
  const problem = `it has the same issuer and audience as "${one.name}", so each of the two could accept the other's tokens.`;
  throw new ConfigurationError(where, problem, "Use one driver, or give each an audience of its own.");
}

function requireIssuersApart(one: CompleteJwtSettings, other: CompleteJwtSettings, where: string): void {
  const isShared = one.verificationKeys.some((key) => other.verificationKeys.some((another) => key.isSameAs(another)));
  if (isShared && !differ(one.issuer, other.issuer) && !differ(one.audience, other.audience)) {
    const problem = `it has the same key as "${one.name}", so each of the two would accept the other's tokens.`;
    const remedy = "Give it a secret of its own, or give both an audience (or an issuer), and not the same.";
    throw new ConfigurationError(where, problem, remedy);
  }
  const areSingle = one.tokens.kind === "single" && other.tokens.kind === "single";
  if (!areSingle || !keepsSameRows(one.model, other.model)) return;
  const problem = `its users are those of "${one.name}", who have one token at a time: a login with one driver would end that of the other.`;
  throw new ConfigurationError(where, problem, "Set tokens: many() for one of the two.");
}

function differ(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other;
}
