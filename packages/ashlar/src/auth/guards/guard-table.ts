import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError, settings, suggestion } from "../../support/index.ts";
import { type ApplicationAccess, endAccessBy } from "../access/application-access.ts";
import type { ProofRegistry } from "../proofs/proof-registry.ts";
import { type AuthenticatableClass, isModel, keepsSameRows, userClassOf } from "../users/authenticatable.ts";
import type { Guard } from "./guard.ts";
import { type ConfiguredGuards, GUARD_SETTINGS, type GuardEntry } from "./guard-settings.ts";

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

/** A driver, as its provider registers it. */
export interface RegisteredDriver {
  readonly make: GuardDriver;
  /** The class of users that the driver brings; `null` if the entries in `GUARDS` name it. */
  readonly model: AuthenticatableClass | null;
}

/** The parts of an application that its guards are checked against, or connected to. */
export interface GuardTableParts {
  /** The ways in which users can prove who they are. */
  readonly proofs: ProofRegistry;
  /** The actions of features when access to an account ends. */
  readonly access: ApplicationAccess;
}

/** Identifies a guard's accounts when attempts are counted: each is the name of the first guard with the same ones. */
export interface GuardUsers {
  /** Guards whose users are the same rows, and log in with the same identifier. */
  readonly realm: string;
  /** Guards whose users are the same rows. */
  readonly rows: string;
}

/** A guard of the application. */
interface MadeGuard {
  /** Creates the guard of one request. */
  readonly create: GuardFactory;
  readonly model: AuthenticatableClass;
  /** `null` until startup ends, because until then, a model's table may change. */
  users: GuardUsers | null;
}

const NO_OPTIONS = settings<Record<never, never>>()({}, { alongside: GUARD_SETTINGS });

/** An application's guards by name, created from the configuration and the drivers. */
export class GuardTable {
  readonly guards: ReadonlyMap<string, MadeGuard>;
  /** The names of all guards. */
  readonly names: readonly string[];
  /** The guard that a request begins with; `null` if the application has no guard. */
  readonly defaultName: string | null;
  readonly #drivers: ReadonlyMap<string, RegisteredDriver>;
  readonly #parts: GuardTableParts;
  readonly #isBooted: boolean;

  /**
   * @param configured the guards in the configuration
   * @param drivers the drivers by name
   * @param isBooted whether all providers have registered their drivers
   * @throws `E_INVALID_CONFIGURATION` if a guard's driver is not registered, or a setting cannot work
   */
  constructor(
    configured: ConfiguredGuards,
    drivers: ReadonlyMap<string, RegisteredDriver>,
    parts: GuardTableParts,
    isBooted: boolean,
  ) {
    this.#drivers = drivers;
    this.#parts = parts;
    this.#isBooted = isBooted;
    const entries = new Map(configured.guards);
    for (const [name, driver] of drivers) {
      if (driver.model !== null && !entries.has(name))
        entries.set(name, { driver: name, model: null, routes: null, options: {}, steps: configured.steps });
    }
    this.#refuseOtherDrivers(entries);
    this.guards = new Map([...entries].map(([name, entry]) => [name, this.#make(name, entry)]));
    this.#refuseConfusedModels(entries);
    this.#refuseStepsNamedAsProofs(entries);
    this.names = [...this.guards.keys()];
    this.defaultName = chooseDefault(configured.defaultGuard, this.names);
  }

  /** Compares the users of all guards once models no longer change, so that requests don't have to. */
  compareUsers(): void {
    for (const [name, guard] of this.guards) guard.users = this.usersOf(name);
  }

  /** Identifies the accounts of a guard; by its own name if there is no such guard. */
  usersOf(name: string): GuardUsers {
    const model = this.guards.get(name)?.model ?? null;
    const same = [...this.guards].filter(([, other]) => model !== null && keepsSameRows(other.model, model));
    const inRealm = same.find(([, other]) => other.model.identifierColumn === model?.identifierColumn);
    return { realm: inRealm?.[0] ?? name, rows: same[0]?.[0] ?? name };
  }

  #make(name: string, entry: GuardEntry): MadeGuard {
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
    // Such a driver is configured elsewhere, so options here would be ignored.
    if (driver.model !== null) NO_OPTIONS.read(entry.options, where);
    const userClass = userClassOf(model);
    // Users in a database are identified by it.
    if (!isModel(userClass)) endAccessBy(userClass, this.#parts.access);
    return { create: driver.make({ name, model, options: entry.options }), model, users: null };
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
    const proofs = new Set(this.#parts.proofs.all.map(({ name }) => name));
    const named = [...entries.values()].flatMap(({ steps }) => steps).find(({ name }) => proofs.has(name));
    if (named === undefined) return;
    const problem = `a step is named "${named.name}", like the proof of a feature.`;
    throw new ConfigurationError("config/auth.ts: GUARDS.steps", problem, "Give the step another name.");
  }
}

function chooseDefault(chosen: string | null, names: readonly string[]): string | null {
  if (chosen !== null) {
    if (names.includes(chosen)) return chosen;
    const problem = `no guard is named "${chosen}".`;
    throw new ConfigurationError("config/auth.ts: GUARDS.default", problem, suggestion(chosen, names));
  }
  if (names.length <= 1) return names[0] ?? null;
  const remedy = `Name the guard that a request begins with, one of ${names.join(", ")}.`;
  throw new ConfigurationError("config/auth.ts: GUARDS.default", "is missing.", remedy);
}
