import { ConfigurationError, type ErrorCode } from "../errors.ts";
import { isClass, isPlainObject } from "../values/kinds.ts";
import { didYouMean } from "../values/nearest.ts";

/** The schema of a setting. `Written` is the type that authors may write, `Read` the result. */
export interface Setting<Read, Written = Read> {
  /** Describes what to write, in messages: `a whole number of minutes from 1 to 525600`. */
  readonly what: string;
  /**
   * Checks a value, or returns the default. `undefined`, `null` and `""` count as missing.
   *
   * @param where the setting's location in messages, such as `config/app.ts: APP.server.port`
   * @throws `E_INVALID_CONFIGURATION` unless the setting has its own code
   */
  read(value: unknown, where: string): Read;
  /** Never set. It ties the setting to the type that the section's interface lets authors write. */
  readonly written?: (written: Written) => Written;
}

/** The values that an author may write for an optional setting, including unset environment variables. */
export type Optional<T> = T | null | undefined;

/** The definition of a {@link Setting}. */
export interface SettingRule<Read> {
  /** Describes what to write, in messages: `a whole number of minutes from 1 to 525600`. */
  readonly what: string;
  /** Whether `accept` reads `null` as a value, instead of counting it as missing. */
  readonly takesNull?: boolean;
  /** Returns the value as read; `undefined` if it is not valid. */
  readonly accept: (value: unknown, where: string) => Read | undefined;
  /** The value for a missing setting; `undefined` if the setting is required. */
  readonly fallback?: Read | undefined;
  /** The allowed words. The error for a misspelled word suggests one. */
  readonly words?: readonly string[];
  /** Describes a refused value in messages; default: by its kind, because text may be a secret. */
  readonly describe?: (value: unknown) => string;
  /** What to do if it is missing or cannot be read; default: write `what`. */
  readonly remedy?: string;
  readonly code?: ErrorCode;
}

/** The range of a number, including both ends. `to` may be infinite. */
export interface NumberRange {
  readonly from: number;
  readonly to: number;
  /** The unit: `seconds`, `bytes`. */
  readonly unit?: string;
}

const YEAR_IN_MINUTES = 525_600;
const MAX_QUOTED = 60;

/** Reports whether a setting is missing: not written, or set to an unset environment variable. */
export function isLeftOut(value: unknown): value is undefined | null | "" {
  return value === undefined || value === null || value === "";
}

/** Defines a setting of any other kind. */
export function setting<Read, Written = Read>(rule: SettingRule<Read>): Setting<Read, Written> {
  const { what, takesNull = false, accept, fallback, words = [], describe = kindOf, code } = rule;
  const { remedy = `Write ${what}${leaveOut(fallback)}.` } = rule;
  return Object.freeze({
    what,
    read(value: unknown, where: string) {
      const isMissing = isLeftOut(value) && !(takesNull && value === null);
      if (isMissing && fallback !== undefined) return fallback;
      if (isMissing) throw new ConfigurationError(where, "is missing.", remedy, code);
      const read = accept(value, where);
      if (read !== undefined) return read;
      const near = typeof value === "string" ? didYouMean(value, words) : "";
      throw new ConfigurationError(where, `is ${describe(value)}.`, `${near} ${remedy}`.trimStart(), code);
    },
  });
}

/** Text, such as a name. Messages never quote it. */
export function text<Fallback extends string | null = never>(
  fallback?: Fallback,
): Setting<string | NoInfer<Fallback>, string> {
  const accept = (value: unknown) => (typeof value === "string" ? value : undefined);
  return setting<string | NoInfer<Fallback>, string>({ what: 'text in quotes: "…"', accept, fallback });
}

/** Text in a certain format. Messages never quote it. */
export function textLike<Fallback extends string | null = never>(
  what: string,
  pattern: RegExp,
  fallback?: Fallback,
): Setting<string | NoInfer<Fallback>, string> {
  const accept = (value: unknown) => (typeof value === "string" && pattern.test(value) ? value : undefined);
  const describe = (value: unknown) => (typeof value === "string" ? "not valid" : kindOf(value));
  return setting<string | NoInfer<Fallback>, string>({ what, accept, fallback, describe });
}

/** True or false. */
export function flag<Fallback extends boolean | null = never>(
  fallback?: Fallback,
): Setting<boolean | NoInfer<Fallback>, boolean> {
  const accept = (value: unknown) => (typeof value === "boolean" ? value : undefined);
  return setting<boolean | NoInfer<Fallback>, boolean>({ what: "true or false", accept, fallback, describe: quoted });
}

/** A number, which may have fractions. */
export function number<Fallback extends number | null = never>(
  range: NumberRange,
  fallback?: Fallback,
): Setting<number | NoInfer<Fallback>, number> {
  return numeric("a number", (value) => typeof value === "number", range, fallback);
}

/** A whole number. */
export function integer<Fallback extends number | null = never>(
  range: NumberRange,
  fallback?: Fallback,
): Setting<number | NoInfer<Fallback>, number> {
  return numeric("a whole number", Number.isSafeInteger, range, fallback);
}

/** A whole number of minutes, up to a year by default. */
export function minutes<Fallback extends number | null = never>(
  fallback?: Fallback,
  to: number = YEAR_IN_MINUTES,
): Setting<number | NoInfer<Fallback>, number> {
  return integer({ from: 1, to, unit: "minutes" }, fallback);
}

/** A number of seconds, which may have fractions. */
export function seconds<Fallback extends number | null = never>(
  range: Omit<NumberRange, "unit">,
  fallback?: Fallback,
): Setting<number | NoInfer<Fallback>, number> {
  return number({ ...range, unit: "seconds" }, fallback);
}

function numeric<Fallback extends number | null>(
  noun: string,
  fits: (value: unknown) => boolean,
  { from, to, unit }: NumberRange,
  fallback: Fallback | undefined,
): Setting<number | NoInfer<Fallback>, number> {
  const range = Number.isFinite(to) ? ` from ${from} to ${to}` : `, ${from} or more`;
  const what = `${noun}${unit === undefined ? "" : ` of ${unit}`}${range}`;
  const accept = (value: unknown) => {
    return fits(value) && (value as number) >= from && (value as number) <= to ? (value as number) : undefined;
  };
  return setting<number | NoInfer<Fallback>, number>({ what, accept, fallback, describe: quoted });
}

/** One of a few words. */
export function oneOf<const Choice extends string, Fallback extends Choice | null = never>(
  choices: readonly Choice[],
  fallback?: Fallback,
): Setting<Choice | NoInfer<Fallback>, Choice> {
  return setting<Choice | NoInfer<Fallback>, Choice>({
    what: alternatives(choices),
    words: choices,
    accept: (value) => choices.find((choice) => choice === value),
    fallback,
    describe: quoted,
  });
}

/** A value that a function recognizes, such as an object with certain methods, or a class. */
export function shape<Shape, Fallback extends Shape | null = never>(
  what: string,
  fits: (value: unknown) => value is Shape,
  fallback?: Fallback,
  code?: ErrorCode,
): Setting<Shape | NoInfer<Fallback>, Shape> {
  const accept = (value: unknown) => (fits(value) ? value : undefined);
  return setting<Shape | NoInfer<Fallback>, Shape>({ what, accept, fallback, ...(code === undefined ? {} : { code }) });
}

/** A setting that may also be written as text: digits for a number, `true` or `false`, as in environment variables. */
export function fromText<Read, Written extends number | boolean>({
  what,
  read,
}: Setting<Read, Written>): Setting<Read, Written | (Written extends number ? string : "true" | "false")> {
  return Object.freeze({ what, read: (value: unknown, where: string) => read(fromEnvironment(value), where) });
}

function fromEnvironment(value: unknown): unknown {
  if (value === "true" || value === "false") return value === "true";
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

/**
 * A setting that refuses `""` instead of treating it as missing, because without a value there is less protection. An
 * environment variable that is empty by mistake must not turn off the protection.
 */
export function notBlank<Read, Written>({ what, read }: Setting<Read, Written>): Setting<Read, Written> {
  return Object.freeze({
    what,
    read(value: unknown, where: string) {
      if (value === "") throw new ConfigurationError(where, "is blank.", `Write ${what}, or leave it out.`);
      return read(value, where);
    },
  });
}

/** A setting whose value is converted after it is read. */
export function derived<Read, Derived, Written>(
  { what, read }: Setting<Read, Written>,
  derive: (read: Read, where: string) => Derived,
): Setting<Derived, Written> {
  return Object.freeze({ what, read: (value: unknown, where: string) => derive(read(value, where), where) });
}

/** Lists words as `"a", "b" or "c"`. */
export function alternatives(words: readonly string[]): string {
  const inQuotes = words.map((word) => `"${word}"`);
  const last = inQuotes.pop() ?? "";
  return inQuotes.length === 0 ? last : `${inQuotes.join(", ")} or ${last}`;
}

function leaveOut(fallback: unknown): string {
  if (fallback === undefined) return "";
  const isShown = typeof fallback === "number" || typeof fallback === "boolean" || typeof fallback === "string";
  return isShown ? `, or leave it out for ${JSON.stringify(fallback)}` : ", or leave it out";
}

/** Describes a value for a message. */
export function quoted(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string"))
    return `[${value.map(quoted).join(", ")}]`;
  if (typeof value !== "string") return kindOf(value);
  return JSON.stringify(value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isPlainObject(value)) return "an object";
  if (typeof value === "object") return `an instance of ${value?.constructor?.name ?? "a class"}`;
  if (typeof value === "function") return isClass(value) ? `the class ${value.name}` : "a function";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}
