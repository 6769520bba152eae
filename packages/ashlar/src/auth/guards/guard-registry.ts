import type { HttpContext } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import type { PasswordHasher } from "../../security/index.ts";
import { AshlarError, ConfigurationError, settings, suggestion } from "../../support/index.ts";
import { type ApplicationAccess, endAccessBy } from "../access/application-access.ts";
import type { AskedStep } from "../pipeline/complete-login.ts";
import type { PendingLogins } from "../pipeline/pending-logins.ts";
import type { ProofRegistry } from "../proofs/proof-registry.ts";
import { type AuthenticatableClass, isModel, keepsSameRows, userClassOf } from "../users/authenticatable.ts";
import type { Guard } from "./guard.ts";
import { GuardPages } from "./guard-pages.ts";
import { type ConfiguredGuards, GUARD_SETTINGS, type GuardEntry } from "./guard-settings.ts";
import { GuessedAccounts } from "./guesses.ts";
import type { UnlimitedRoutes } from "./unlimited-routes.ts";
import "../errors.ts";

/** The data for a driver that creates a guard. */
export interface GuardSettings {
  /** The guard's name. */
  readonly name: string;
  /** The class of the guard's users, or an object that finds them. */
  readonly model: AuthenticatableClass;
  /** The remaining options of the guard's entry in `GUARDS`, for the driver to validate. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Creates the guard of one request. */
export type GuardFactory = (context: HttpContext) => Guard<object>;

/**
 * A kind of guard. Called at boot, once for each guard of this kind; the function that it returns is called for each
 * request that asks for the guard.
 *
 * @throws `E_INVALID_CONFIGURATION` if the settings cannot work
 */
export type GuardDriver = (settings: GuardSettings) => (context: HttpContext) => Guard<object>;

interface RegisteredDriver {
  readonly make: GuardDriver;
  /** The class of users that the driver brings; `null` if the entries in `GUARDS` name it. */
  readonly model: AuthenticatableClass | null;
}

/** A guard that requires fewer steps than another guard with the same users. */
export interface GuardWithFewerSteps {
  readonly guard: string;
  readonly other: string;
  /** The names of the steps that only the other guard asks. */
  readonly steps: readonly string[];
}

/** What the guards of an application share. */
export interface GuardParts {
  /** Keeps logins that wait for a step. */
  readonly pendingLogins: PendingLogins;
  /** The ways in which users can prove who they are. */
  readonly proofs: ProofRegistry;
  /** The actions of features when access to an account ends. */
  readonly access: ApplicationAccess;
}

const NO_OPTIONS = settings<Record<never, never>>()({}, { alongside: GUARD_SETTINGS });

/**
 * Knows the application's guards by name: which driver makes each, who its users are, and which steps it requires.
 * Bound to the container as `auth`. {@link GuardPages} has the guards' pages, {@link GuessedAccounts} tracks guesses at
 * their accounts.
 */
export class GuardRegistry {
  readonly #settings: ConfiguredGuards;
  readonly #drivers = new Map<string, RegisteredDriver>();
  /** The pages of each guard. */
  readonly pages: GuardPages;
  /** The logins that wait for a step. */
  readonly pendingLogins: PendingLogins;
  /** The ways in which users can prove who they are. */
  readonly proofs: ProofRegistry;
  readonly #access: ApplicationAccess;
  readonly #models = new Map<string, AuthenticatableClass>();
  #guards: ReadonlyMap<string, GuardFactory> | null = null;
  /** Whether all providers have registered their drivers. */
  #isBooted = false;
  #defaultName: string | null = null;
  #refuses: (user: object) => boolean = () => false;
  /** The accounts that passwords are guessed at. */
  readonly guesses: GuessedAccounts = new GuessedAccounts(this);
  /** Warns of routes that check a password or send a mail without a limit; `null` in production. */
  unlimitedRoutes: UnlimitedRoutes | null = null;

  /**
   * @param settings the guards
   * @param router returns the router once there is one, for {@link pages}; before that, `null`
   * @param parts the data that the guards share
   */
  constructor(settings: ConfiguredGuards, router: () => Router | null, parts: GuardParts) {
    this.#settings = settings;
    this.pendingLogins = parts.pendingLogins;
    this.proofs = parts.proofs;
    this.#access = parts.access;
    this.pages = new GuardPages(settings, router, () => this.#defaultOrNull);
  }

  /**
   * Registers a kind of guard; called by providers at boot. Entries in `GUARDS` name it:
   * `{ admin: { driver: "web" } }`.
   *
   * @param model the class of users, for a driver that is configured elsewhere. Such a driver is also a guard under its
   * own name, even if `GUARDS` does not mention it, and no entry of `GUARDS` may give it another model.
   * @throws `E_INVALID_CONFIGURATION` if the name is taken, or after the boot
   */
  registerDriver(name: string, make: GuardDriver, model: AuthenticatableClass | null = null): void {
    if (this.#guards !== null) {
      throw new AshlarError("E_INVALID_CONFIGURATION", `The guard driver "${name}" was registered after the boot.`);
    }
    if (this.#drivers.has(name)) {
      const problem = `The guard driver "${name}" is registered twice: by two providers, or as a driver of config/api.ts.`;
      throw new AshlarError("E_INVALID_CONFIGURATION", `${problem} Give one of them another name.`);
    }
    this.#drivers.set(name, { make, model });
  }

  /**
   * Makes sure that every configured guard can be created. Called once all providers have booted.
   *
   * @throws `E_INVALID_CONFIGURATION` if a guard's driver is not registered, or a setting cannot work
   */
  prepare(): void {
    this.#isBooted = true;
    this.#factories();
  }

  /** Refuses logins of some users, as if their proof were wrong. Called when providers register. */
  refuseUsers(refuses: (user: object) => boolean): void {
    this.#refuses = refuses;
  }

  /** Reports whether a user may log in. */
  admits(user: object): boolean {
    return !this.#refuses(user);
  }

  /** Hashes the passwords of the guards' users. */
  get hasher(): PasswordHasher {
    return this.#settings.hasher;
  }

  /** The names of all guards. */
  get names(): readonly string[] {
    return [...this.#factories().keys()];
  }

  /**
   * The name of the guard that a request begins with.
   *
   * @throws `E_UNKNOWN_GUARD` if the application has no guard
   */
  get defaultName(): string {
    const name = this.#defaultOrNull;
    if (name !== null) return name;
    throw new AshlarError("E_UNKNOWN_GUARD", "The application has no guard. Name one in config/auth.ts: GUARDS.");
  }

  get #defaultOrNull(): string | null {
    this.#factories();
    return this.#defaultName;
  }

  /** @throws `E_UNKNOWN_GUARD` if no guard has this name, suggesting similar ones */
  checkName(name: string): void {
    if (!this.#factories().has(name)) {
      throw new AshlarError("E_UNKNOWN_GUARD", `No guard is named "${name}". ${suggestion(name, this.names)}`);
    }
  }

  /**
   * Creates a guard for one request.
   *
   * @throws `E_UNKNOWN_GUARD` if no guard has this name
   */
  make(name: string, context: HttpContext): Guard {
    this.checkName(name);
    return this.#factories().get(name)!(context);
  }

  /** The further steps of each login with a guard. */
  stepsOf(name: string): readonly AskedStep[] {
    const { steps } = this.#settings.guards.get(name) ?? this.#settings;
    return this.proofs.steps.length === 0 ? steps : [...steps, ...this.proofs.steps];
  }

  /**
   * Makes sure that all pages that guards and their steps need exist. Called when the application boots.
   *
   * @throws `E_INVALID_CONFIGURATION`
   */
  checkPages(): void {
    this.pages.check();
    for (const guard of this.names) {
      const model = this.modelOf(guard)!;
      for (const step of this.proofs.steps) {
        const { users } = step.proof;
        if (users === undefined || keepsSameRows(model, users)) this.pages.checkProofStep(guard, step);
      }
    }
  }

  /** The guards whose users can also log in with another guard that requires more steps. */
  get guardsWithFewerSteps(): readonly GuardWithFewerSteps[] {
    return this.names.flatMap((guard) => {
      const asked = new Set(this.stepsOf(guard).map(({ name }) => name));
      return this.names.flatMap((other) => {
        const steps = this.stepsOf(other).flatMap(({ name }) => (asked.has(name) ? [] : [name]));
        const isSame = steps.length > 0 && keepsSameRows(this.modelOf(guard)!, this.modelOf(other)!);
        return isSame ? [{ guard, other, steps }] : [];
      });
    });
  }

  /** The class of a guard's users; `null` if no guard has this name. */
  modelOf(name: string): AuthenticatableClass | null {
    this.#factories();
    return this.#models.get(name) ?? null;
  }

  /**
   * The class of a guard's users, for a feature that finds them.
   *
   * @throws `E_UNKNOWN_GUARD` if no guard has this name
   */
  usersOf(name: string): AuthenticatableClass {
    this.checkName(name);
    return this.#models.get(name)!;
  }

  /**
   * Identifies the accounts of a guard when attempts are counted by account: the name of the first guard whose users
   * are the same rows and log in with the same identifier. Guards with the same class share it; guards with different
   * tables never do.
   */
  realmOf(name: string): string {
    const model = this.modelOf(name);
    return this.#firstWithRowsOf(name, (other) => other.identifierColumn === model?.identifierColumn);
  }

  /**
   * Identifies the accounts of a guard when attempts are counted by primary key: the name of the first guard whose users
   * are the same rows, whatever they log in with.
   */
  rowsOf(name: string): string {
    return this.#firstWithRowsOf(name);
  }

  #firstWithRowsOf(name: string, isWanted: (model: AuthenticatableClass) => boolean = () => true): string {
    const model = this.modelOf(name);
    if (model === null) return name;
    const first = [...this.#models].find(([, other]) => isWanted(other) && keepsSameRows(other, model));
    return first?.[0] ?? name;
  }

  #factories(): ReadonlyMap<string, GuardFactory> {
    if (this.#guards !== null) return this.#guards;
    const entries = new Map(this.#settings.guards);
    for (const [name, driver] of this.#drivers) {
      if (driver.model !== null && !entries.has(name))
        entries.set(name, { driver: name, model: null, routes: null, options: {}, steps: this.#settings.steps });
    }
    this.#refuseOtherDrivers(entries);
    const guards = new Map([...entries].map(([name, entry]) => [name, this.#factory(name, entry)]));
    this.#refuseConfusedModels(entries);
    this.#refuseStepsNamedAsProofs(entries);
    this.#defaultName = this.#chooseDefault([...guards.keys()]);
    this.#guards = guards;
    return guards;
  }

  #factory(name: string, entry: GuardEntry): GuardFactory {
    const where = `config/auth.ts: GUARDS.${name}`;
    const driver = this.#drivers.get(entry.driver);
    if (driver === undefined) {
      const early = this.#isBooted
        ? ""
        : " Drivers are registered by boot() of their providers: ask for guards in ready().";
      const listed = `Is the provider that brings it listed in PROVIDERS?${early}`;
      const remedy = `${suggestion(entry.driver, this.#drivers.keys())} ${listed}`;
      throw new ConfigurationError(where, `no guard driver is named "${entry.driver}".`, remedy.trim());
    }
    const model = entry.model ?? driver.model;
    if (model === null) {
      throw new ConfigurationError(where, "it has no model.", `Name the class of its users: ${name}: { model: User }.`);
    }
    if (driver.model !== null && userClassOf(model) !== userClassOf(driver.model)) {
      // If a key of one table were used in another table, it would identify a different user.
      const problem = `its model is not the one of the driver "${entry.driver}", ${driver.model.name}.`;
      throw new ConfigurationError(where, problem, "Leave the model out here.");
    }
    // Such a driver is configured elsewhere: options here would be ignored.
    if (driver.model !== null) NO_OPTIONS.read(entry.options, where);
    this.#models.set(name, model);
    const userClass = userClassOf(model);
    // Users in a database are identified by it.
    if (!isModel(userClass)) endAccessBy(userClass, this.#access);
    return driver.make({ name, model, options: entry.options });
  }

  /** A driver that is configured elsewhere, such as one for API tokens, expects the guard with this name to be its own. */
  #refuseOtherDrivers(entries: ReadonlyMap<string, GuardEntry>): void {
    for (const [name, { driver }] of entries) {
      if (driver === name || (this.#drivers.get(name)?.model ?? null) === null) continue;
      const problem = `its driver is "${driver}", but "${name}" is itself a driver, with a guard of this name.`;
      throw new ConfigurationError(`config/auth.ts: GUARDS.${name}`, problem, "Give one of the two another name.");
    }
  }

  /**
   * A model that extends another guard's model passes every `instanceof` check for that class, and inherits what the
   * boot sets on it. Classes that are not models have no table to compare; the guards compare those exactly.
   */
  #refuseConfusedModels(entries: ReadonlyMap<string, GuardEntry>): void {
    const models = [...entries].map(([name, { driver, model }]) => {
      return { name, model: model ?? this.#drivers.get(driver)!.model! };
    });
    for (const { name, model } of models) {
      const base = models.find((other) => Object.prototype.isPrototypeOf.call(other.model, model));
      if (base === undefined || !isModel(model) || keepsSameRows(model, base.model)) continue;
      const problem = `${model.name} extends ${base.model.name}, the model of the guard "${base.name}", but its rows are in another table.`;
      const remedy = `Have both extend a class that is not a guard's model: class ${model.name} extends compose(Model, Authenticates).`;
      throw new ConfigurationError(`config/auth.ts: GUARDS.${name}.model`, problem, remedy, "E_INVALID_MODEL");
    }
  }

  /** A login that passed the step would count as proved by the other. */
  #refuseStepsNamedAsProofs(entries: ReadonlyMap<string, GuardEntry>): void {
    const proofs = new Set(this.proofs.all.map(({ name }) => name));
    const named = [...entries.values()].flatMap(({ steps }) => steps).find(({ name }) => proofs.has(name));
    if (named === undefined) return;
    const problem = `a step is named "${named.name}", like the proof of a feature.`;
    throw new ConfigurationError("config/auth.ts: GUARDS.steps", problem, "Give the step another name.");
  }

  #chooseDefault(names: readonly string[]): string | null {
    const chosen = this.#settings.defaultGuard;
    if (chosen !== null) {
      if (names.includes(chosen)) return chosen;
      const problem = `no guard is named "${chosen}".`;
      throw new ConfigurationError("config/auth.ts: GUARDS.default", problem, suggestion(chosen, names));
    }
    if (names.length <= 1) return names[0] ?? null;
    const remedy = `Name the guard that a request begins with, one of ${names.join(", ")}.`;
    throw new ConfigurationError("config/auth.ts: GUARDS.default", "is missing.", remedy);
  }
}
