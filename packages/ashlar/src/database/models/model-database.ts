import { currentApplication, type RunningApplication, runningApplications } from "../../kernel/index.ts";
import { AshlarError, ConfigurationError } from "../../support/index.ts";
import type { Database } from "../connections/database.ts";
import { TABLE_NAME } from "../table-names.ts";
import type { ModelClass } from "./model-types.ts";
import "../errors.ts";

/** The databases assigned to classes with `useDatabase`. */
const given = new WeakMap<object, Database>();
/** The database of each application, for all models that do not belong to another application. */
const databases = new WeakMap<RunningApplication, Database>();
/** The classes that an application's configuration uses, such as its users. */
const named = new WeakMap<RunningApplication, Set<object>>();

/**
 * The version of all assignments of databases to models, which changes whenever a model's database may have changed.
 */
export const bindings: { version: number } = { version: 0 };

/** Assigns a database to a class and its subclasses; `null` removes it. */
export function bindDatabase(modelClass: object, database: Database | null): void {
  if (database === null) given.delete(modelClass);
  else given.set(modelClass, database);
  bindings.version++;
}

/** The database assigned to a class itself. */
export function boundDatabase(modelClass: object): Database | undefined {
  return given.get(modelClass);
}

/** Assigns an application's database to its models; `null` removes it. */
export function bindApplication(application: RunningApplication, database: Database | null): void {
  if (database === null) databases.delete(application);
  else databases.set(application, database);
  bindings.version++;
}

/**
 * Records that an application's configuration uses a class. The class and its subclasses then belong to that
 * application, even outside of its requests.
 */
export function claimModel(modelClass: object, application: RunningApplication): void {
  const classes = named.get(application) ?? new Set();
  named.set(application, classes.add(modelClass));
  bindings.version++;
}

/**
 * Something that an application's configuration uses: a model, or anything else that finds users in the tables it
 * names.
 */
interface Claimed {
  readonly name: string;
  readonly table?: string;
  readonly tables?: readonly string[];
}

/**
 * The tables that an application's configuration uses: those of its models, and those named by other classes and
 * objects.
 *
 * @returns the tables, and the names of the classes and objects that don't name any
 * @throws `E_INVALID_CONFIGURATION` for an invalid table name
 */
export function claimedTables(application: RunningApplication): {
  readonly tables: readonly string[];
  readonly unknown: readonly string[];
} {
  const all = [...(named.get(application) ?? [])] as Claimed[];
  const tablesOf = ({ table, tables }: Claimed) => tables ?? (table === undefined ? null : [table]);
  for (const one of all) requireTableNames(one.name, tablesOf(one) ?? []);
  return {
    tables: all.flatMap((one) => tablesOf(one) ?? []),
    unknown: all.filter((one) => tablesOf(one) === null).map(({ name }) => name),
  };
}

/** Security: statements about a table are recognized by its name, so the name must be valid. */
function requireTableNames(where: string, tables: readonly unknown[]): void {
  const wrong = tables.find((table) => typeof table !== "string" || !TABLE_NAME.test(table));
  if (wrong === undefined) return;
  const problem = `names the table ${JSON.stringify(wrong)}, which can't be a table's name.`;
  throw new ConfigurationError(where, problem, 'Write it as in the database, such as "members" or "auth.members".');
}

/**
 * The application whose configuration uses a class, or one of its base classes.
 *
 * @returns `null` if no application does
 * @throws `E_INVALID_CONFIGURATION` outside of a request, if several applications do
 */
export function applicationOf(modelClass: ModelClass): RunningApplication | null {
  const applications = applicationsNaming(modelClass);
  if (applications.length < 2) return applications[0] ?? null;
  return among(applications) ?? ambiguous(modelClass, applications);
}

/** A model's database, and whether it is the same for all applications, rather than only for the current one. */
export interface ModelDatabase {
  readonly database: Database;
  readonly isSettled: boolean;
}

/**
 * The database that a model uses: the one assigned to it or a base class; otherwise that of the application whose
 * configuration uses the class, of the only application, or of the application that the running code belongs to.
 *
 * @throws `E_DATABASE` if there isn't one; `E_INVALID_CONFIGURATION` if there are several and none can be chosen
 */
export function resolveDatabase(modelClass: ModelClass): ModelDatabase {
  const found = findDatabase(modelClass);
  if (found !== null) return found;
  const candidates = candidatesFor(modelClass);
  if (candidates.length > 0) ambiguous(modelClass, candidates);
  const remedy = "List DatabaseProvider in PROVIDERS, or call Model.useDatabase(database).";
  throw new AshlarError("E_DATABASE", `The model ${modelClass.name} has no database. ${remedy}`);
}

/** Like {@link resolveDatabase}, but returns `null` instead of throwing. */
function findDatabase(modelClass: ModelClass): ModelDatabase | null {
  for (const one of lineage(modelClass)) {
    const database = given.get(one);
    if (database !== undefined) return { database, isSettled: true };
  }
  const candidates = candidatesFor(modelClass);
  const isSettled = candidates.length === 1;
  const application = isSettled ? candidates[0] : among(candidates);
  return application === undefined ? null : { database: databases.get(application)!, isSettled };
}

/** The running applications whose database could be a model's. */
function candidatesFor(modelClass: ModelClass): readonly RunningApplication[] {
  const owners = applicationsNaming(modelClass);
  return (owners.length > 0 ? owners : runningApplications()).filter((one) => databases.has(one));
}

/**
 * Reports whether two models share a table, so that a primary key means the same row to both. A model that names the
 * default connection uses the same one as a model that names none.
 */
export function haveSameTable(one: ModelClass, other: ModelClass): boolean {
  return one.table === other.table && (one.connection === other.connection || nameOf(one) === nameOf(other));
}

/** The name of a model's connection; `undefined` if it is the default one and the database is unknown. */
function nameOf(modelClass: ModelClass): string | undefined {
  return modelClass.connection ?? findDatabase(modelClass)?.database.settings.default;
}

/**
 * The database that a model's class uses.
 *
 * @throws as {@link resolveDatabase}
 */
export function databaseOf(modelClass: object): Database {
  return resolveDatabase(modelClass as ModelClass).database;
}

/** The class, its base class, and so on. */
export function lineage(modelClass: ModelClass): ModelClass[] {
  const classes: ModelClass[] = [];
  for (let one: unknown = modelClass; one !== Function.prototype; one = Object.getPrototypeOf(one)) {
    classes.push(one as ModelClass);
  }
  return classes;
}

/** The running applications that use the class, or its nearest base class that any of them uses. */
export function applicationsNaming(modelClass: ModelClass): readonly RunningApplication[] {
  for (const one of lineage(modelClass)) {
    const applications = runningApplications().filter((application) => named.get(application)?.has(one));
    if (applications.length > 0) return applications;
  }
  return [];
}

/** The current application, if it is one of these. */
function among(applications: readonly RunningApplication[]): RunningApplication | undefined {
  const current = currentApplication();
  return applications.find((one) => one === current);
}

function ambiguous({ name }: ModelClass, applications: readonly RunningApplication[]): never {
  const names = applications.map(({ root, settings }) => `"${settings.name}" (${root})`).join(" and ");
  const problem = `The model ${name} was used outside of a request, and could belong to any of the applications ${names}.`;
  const remedy =
    "Use it in a request or provider of one of them, shut the others down, or give each application its own class: " +
    `class ${name} extends Model, with ${name}.useDatabase(application.container.make("database")).`;
  throw new AshlarError("E_INVALID_CONFIGURATION", `${problem} ${remedy}`);
}
