import { ConfigurationError } from "../errors.ts";
import { isPlainObject } from "../values/kinds.ts";
import { nearest, suggestion } from "../values/nearest.ts";
import { isLeftOut, type Setting, setting } from "./setting-kinds.ts";
import { SetupProblems } from "./setup-problems.ts";

/** Settings as read, with defaults for those that the author left out. */
export type Complete<Written> = {
  readonly [Name in keyof Written]-?: Exclude<Written[Name], undefined>;
};

/** A setting for each name that authors may write, and no others. */
type Schema<Written> = {
  readonly [Name in keyof Written]-?: Setting<unknown, NonNullable<Written[Name]>>;
};

type ReadBy<S> = {
  readonly [Name in keyof S]: S[Name] extends { read(value: unknown, where: string): infer Read } ? Read : never;
};

/** Creates the error for a refused setting: what is wrong with it, and what to write. */
export type Refusal = (name: string, problem: string, remedy: string) => ConfigurationError;

/** Options for an object of settings. */
export interface SettingsOptions<Read> {
  /** Throws if the settings contradict each other. */
  readonly check?: (settings: Read, refuse: Refusal) => void;
  /** Other valid names in the same object, which are read elsewhere. They may be suggested for a misspelled name. */
  readonly alongside?: readonly string[];
  /** Names of former settings, with what to do instead. */
  readonly former?: Readonly<Record<string, string>>;
}

/**
 * Defines an object of settings, with a setting for each name in the interface that authors use. A feature reads its
 * configuration with it when its provider registers or boots:
 *
 * ```ts
 * import { flag, listOf, minutes, settings, text } from "ashlar/settings";
 *
 * // The shape of STOCK in config/stock.ts
 * export interface StockSettings {
 *   readonly holdMinutes?: number;
 *   readonly isPublic?: boolean;
 *   readonly warehouses?: readonly string[];
 * }
 *
 * const SCHEMA = settings<StockSettings>()({
 *   holdMinutes: minutes(30),
 *   isPublic: flag(false),
 *   warehouses: listOf('a list of names: ["Vienna"]', text(), []),
 * });
 *
 * const { STOCK } = application.config.optionalSection("stock", ["STOCK"]);
 * const { holdMinutes } = SCHEMA.read(STOCK, "config/stock.ts: STOCK");
 * ```
 *
 * The result is frozen. Unknown names, missing settings and wrong types are reported in one `E_INVALID_CONFIGURATION`,
 * with their location and what to write. Text is never quoted, because it may be a secret.
 *
 * The definition takes two calls, because the first type argument is explicit, and the second one is inferred. A schema
 * that lacks a name of `Written`, has an additional one, or reads another type doesn't compile.
 */
export function settings<Written extends object>(): <S extends Schema<Written>>(
  schema: S & Readonly<Record<Exclude<keyof S, keyof Written>, never>>,
  options?: SettingsOptions<ReadBy<S>>,
) => Setting<ReadBy<S>, Written> {
  return (schema, options = {}) => {
    const entries = Object.entries<Pick<Setting<unknown>, "read">>(schema);
    const names = entries.map(([name]) => name);
    return objectSetting(names[0] ?? "name", (values, where) => {
      const problems = new SetupProblems();
      const misspelt = refuseUnknownNames(problems, values, where, names, options);
      const read = entries
        .filter(([name]) => !misspelt.has(name))
        .map(([name, entry]) => [name, problems.try(() => entry.read(values[name], `${where}.${name}`))]);
      problems.end();
      const complete = Object.freeze(Object.fromEntries(read));
      options.check?.(complete, (name, ...reason) => new ConfigurationError(`${where}.${name}`, ...reason));
      return complete;
    });
  };
}

/**
 * An object whose names the author chooses, such as the names of guards. All members have the same kind of setting.
 *
 * @param checkName throws if a name cannot be used
 * @param example a name, for messages
 */
export function recordOf<Read, Written>(
  entry: Setting<Read, Written>,
  checkName: (name: string, where: string) => void = () => {},
  example = "name",
): Setting<Readonly<Record<string, Read>>, Readonly<Record<string, Written>>> {
  return objectSetting(example, (values, where) => {
    const problems = new SetupProblems();
    const read = Object.entries(values).map(([name, value]) => {
      problems.try(() => checkName(name, `${where}.${name}`));
      return [name, problems.try(() => entry.read(value, `${where}.${name}`))] as const;
    });
    problems.end();
    return Object.freeze(Object.fromEntries(read)) as Readonly<Record<string, Read>>;
  });
}

/** A list whose entries all have the same kind of setting. It is optional only with a `fallback`. */
export function listOf<Read, Written>(
  what: string,
  entry: Setting<Read, Written>,
  fallback?: readonly [],
): Setting<readonly Read[], readonly Written[]> {
  return setting<readonly Read[], readonly Written[]>({
    what,
    fallback,
    accept(value, where) {
      if (!Array.isArray(value) || (value.length === 0 && fallback === undefined)) return undefined;
      const problems = new SetupProblems();
      const read = value.map((one, index) => problems.try(() => entry.read(one, `${where}[${index}]`)));
      problems.end();
      return Object.freeze(read as Read[]);
    },
  });
}

function objectSetting<Read, Written>(
  example: string,
  read: (values: Readonly<Record<string, unknown>>, where: string) => Read,
): Setting<Read, Written> {
  const object = setting<Read, Written>({
    what: `an object: { ${example}: … }`,
    accept: (value, where) => (isPlainObject(value) ? read(value, where) : undefined),
  });
  return Object.freeze({
    what: object.what,
    read: (value: unknown, where: string) => object.read(isLeftOut(value) ? {} : value, where),
  });
}

/** @returns the missing settings that the unknown name was probably meant to be */
function refuseUnknownNames(
  problems: SetupProblems,
  values: Readonly<Record<string, unknown>>,
  where: string,
  known: readonly string[],
  { alongside = [], former = {} }: Pick<SettingsOptions<never>, "alongside" | "former">,
): ReadonlySet<string> {
  const missing = known.filter((name) => isLeftOut(values[name]));
  const misspelt = new Set<string>();
  for (const name of Object.keys(values).filter((one) => !known.includes(one))) {
    const place = `${where}.${name}`;
    const instead = Object.hasOwn(former, name) ? former[name] : undefined;
    problems.add(
      instead === undefined
        ? unknownSetting(place, name, [...alongside, ...known])
        : new ConfigurationError(place, "is no longer a setting.", instead),
    );
    for (const near of nearest(name, missing)) misspelt.add(near);
  }
  return misspelt;
}

/** The error for an unknown setting, with suggestions. */
export function unknownSetting(where: string, name: string, known: readonly string[]): ConfigurationError {
  return new ConfigurationError(where, "is not a known setting.", suggestion(name, known));
}
