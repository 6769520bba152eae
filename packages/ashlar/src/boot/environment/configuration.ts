import {
  ConfigurationError,
  isPlainObject,
  nearest,
  SetupProblems,
  suggestion,
  unknownSetting,
} from "../../support/index.ts";

/** The exports of one configuration file by name, such as `{ DRIVERS: … }` for `config/api.ts`. */
export type ConfigurationSection = Readonly<Record<string, unknown>>;

/** The frozen configuration of an application, by section. Each feature validates its own section at boot. */
export class Configuration {
  readonly #sections: ReadonlyMap<string, ConfigurationSection>;
  /** The errors of files that couldn't be loaded, by the file's name. */
  readonly #failures: ReadonlyMap<string, unknown>;
  /** The sections that were read. */
  readonly #read = new Set<string>();
  /** The missing optional sections, with the exports that would have been read. */
  readonly #missing = new Map<string, readonly string[]>();

  /**
   * @param sections the exports of each configuration file, by the file's name
   * @param failures the error of each file that can't be loaded; reading its section throws it again
   */
  constructor(
    sections: Readonly<Record<string, ConfigurationSection>> = {},
    failures: ReadonlyMap<string, unknown> = new Map(),
  ) {
    this.#sections = new Map(Object.entries(frozenCopy(sections)));
    this.#failures = failures;
  }

  /** Reports whether there is a section with this name: a file `config/<name>.ts`. */
  has(name: string): boolean {
    return this.#sections.has(name) || this.#failures.has(name);
  }

  /** The names of all sections. */
  get names(): readonly string[] {
    return [...this.#sections.keys()];
  }

  /**
   * Returns the exports of a configuration file.
   *
   * @param name the file's name without folder and extension, such as `api`
   * @param known the exports that will be read; the file may have others. Default: none
   * @throws `E_INVALID_CONFIGURATION` if the file doesn't exist, or if it lacks one of `known` and exports a similar name
   */
  section(name: string, known: readonly string[] = []): Readonly<Record<string, unknown>> {
    if (this.#failures.has(name)) throw this.#failures.get(name);
    const section = this.#sections.get(name);
    if (section !== undefined) {
      this.#read.add(name);
      const missing = known.filter((one) => !Object.hasOwn(section, one));
      const problems = new SetupProblems();
      for (const exported of Object.keys(section)) {
        if (known.includes(exported) || nearest(exported, missing).length === 0) continue;
        problems.add(unknownSetting(`config/${name}.ts: ${exported}`, exported, missing));
      }
      problems.end();
      return section;
    }
    throw new ConfigurationError(
      `config/${name}.ts`,
      "does not exist.",
      `Add the file, or leave out the provider that reads it. ${suggestion(name, this.#sections.keys())}`.trim(),
    );
  }

  /**
   * Returns the exports of an optional configuration file; an empty object if it doesn't exist.
   *
   * @param name the file's name without folder and extension, such as `session`
   * @param known the exports that are read; the file may have others
   * @throws `E_INVALID_CONFIGURATION` if it exports none of `known`, or lacks one of them and exports a similar name
   */
  optionalSection(name: string, known: readonly string[]): Readonly<Record<string, unknown>> {
    if (!this.has(name)) {
      this.#missing.set(name, known);
      return {};
    }
    const section = this.section(name, known);
    if (Object.keys(section).length === 0 || known.some((one) => Object.hasOwn(section, one))) return section;
    const problem = `does not export ${known.join(" or ")}.`;
    throw new ConfigurationError(`config/${name}.ts`, problem, `Write export const ${known[0]} = { … };`);
  }

  /**
   * @internal Checks files that weren't read: if the name resembles that of a missing file, it may be misspelled. If the file
   * also has that file's exports, it certainly is. Called once everything has been read.
   *
   * @returns a warning for each file whose name may be misspelled
   * @throws `E_INVALID_CONFIGURATION` for files whose name is misspelled
   */
  checkNames(): string[] {
    const unread = this.names.filter((name) => !this.#read.has(name));
    const problems = new SetupProblems();
    const warnings = unread.flatMap((name) => {
      const [near] = nearest(name, this.#missing.keys());
      if (near === undefined) return [];
      const problem = `is not read. Did you mean config/${near}.ts?`;
      const isMeant = this.#missing.get(near)!.some((exported) => Object.hasOwn(this.#sections.get(name)!, exported));
      if (!isMeant) return [`config/${name}.ts: ${problem}`];
      problems.add(new ConfigurationError(`config/${name}.ts`, problem, "Rename it."));
      return [];
    });
    problems.end();
    return warnings;
  }
}

/**
 * Returns a frozen deep copy of plain data. Classes, functions and instances of classes are neither copied nor frozen, because
 * other code owns them.
 */
export function frozenCopy<T>(value: T): T {
  return copy(value, new Map()) as T;
}

function copy(value: unknown, seen: Map<unknown, unknown>): unknown {
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const made: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {};
  seen.set(value, made);
  for (const [key, member] of Object.entries(value)) {
    // Defined, because assigning "__proto__" would change the copy's prototype instead.
    Object.defineProperty(made, key, {
      value: copy(member, seen),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return Object.freeze(made);
}
