import { ConfigurationError } from "./errors.ts";
import { settingsOf } from "./setting-names.ts";

/** Reads the members of one configuration object, each checked, with the defaults for what is left out. */
export class SettingsReader {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #where: string;

  /**
   * @param value the object; nothing counts as an empty one
   * @param where its place for messages, such as `config/app.ts: APP.server`
   * @param known the names it may have
   * @throws `E_INVALID_CONFIGURATION` where it is no object or has an unknown name
   */
  constructor(value: unknown, where: string, known: readonly string[]) {
    this.#values = settingsOf(value, where, known);
    this.#where = where;
  }

  /** The member as it stands; `undefined` where it is left out or set to nothing. */
  raw(name: string): unknown {
    const value = this.#values[name];
    return value === null || value === "" ? undefined : value;
  }

  text(name: string): string | undefined;
  text(name: string, fallback: string): string;
  text(name: string, fallback?: string): string | undefined {
    const value = this.raw(name) ?? fallback;
    if (value === undefined || typeof value === "string") return value;
    throw this.problem(name, "is not text.", 'Write it in quotes: "…".');
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.raw(name) ?? fallback;
    if (typeof value === "boolean") return value;
    throw this.problem(name, "is neither true nor false.", "Set it to true or to false.");
  }

  /** A number between two bounds, both included. */
  number(name: string, fallback: number, [least, most]: readonly [number, number]): number {
    const value = this.raw(name) ?? fallback;
    if (typeof value === "number" && value >= least && value <= most) return value;
    throw this.problem(name, `is not a number from ${least} to ${most}.`, `Leave it out for ${fallback}.`);
  }

  /** A whole number between two bounds, both included. */
  integer(name: string, fallback: number, bounds: readonly [number, number]): number {
    const value = this.number(name, fallback, bounds);
    if (Number.isInteger(value)) return value;
    throw this.problem(name, "is not a whole number.", `Leave it out for ${fallback}.`);
  }

  /** One of a few words. */
  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const value = this.raw(name) ?? fallback;
    const chosen = choices.find((choice) => choice === value);
    if (chosen !== undefined) return chosen;
    throw this.problem(
      name,
      `is ${JSON.stringify(value)}.`,
      `It can be ${choices.map((one) => `"${one}"`).join(", ")}.`,
    );
  }

  /** The error that says what is wrong with a member. */
  problem(name: string, problem: string, remedy: string): ConfigurationError {
    return new ConfigurationError(`${this.#where}.${name}`, problem, remedy);
  }
}
