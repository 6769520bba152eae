import { isPlainObject, type Message, ValidationError } from "../../support/index.ts";
import { ABSENT } from "../addresses/dot-path.ts";
import { type HTTP_MESSAGES, message } from "../messages.ts";

/**
 * Reads one input as one type.
 *
 * @param name the input's name, for the error
 * @param value the input, or {@link ABSENT}
 * @returns `null` if the input is absent or `null`
 * @throws `E_INVALID_INPUT` if it is something else
 */
export type InputReader<T> = (name: string, value: unknown) => T | null;

type InputKey = Extract<keyof typeof HTTP_MESSAGES, `input.${string}`>;
type ExpectedKey = Exclude<InputKey, "input.choice" | "input.invalidAsWhole">;

function refuse(name: string, expected: ExpectedKey): never {
  refuseBy(name, message(expected, { name }));
}

function refuseBy(name: string, problem: Message): never {
  throw new ValidationError({ [name]: [problem] }, problem);
}

function isAbsent(value: unknown): boolean {
  return value === ABSENT || value === null || value === undefined;
}

/**
 * A form sends an empty text for a field that was not filled in, so blank text counts as absent unless text is wanted.
 */
function isBlank(value: unknown): boolean {
  return isAbsent(value) || (typeof value === "string" && value.trim() === "");
}

/** Text, blank text included; nothing else becomes text. */
export const readString: InputReader<string> = (name, value) => {
  if (isAbsent(value)) return null;
  return typeof value === "string" ? value : refuse(name, "input.text");
};

/** A whole number within ±(2⁵³ − 1): a JSON number, or text of decimal digits with or without a minus sign. */
export const readInteger: InputReader<number> = (name, value) => {
  if (isBlank(value)) return null;
  const number = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? positiveZero(number as number) : refuse(name, "input.integer");
};

/** A finite number: a JSON number, or text in the form of HTML's number inputs (`-1`, `.5`, `1.5e3`). */
export const readFloat: InputReader<number> = (name, value) => {
  if (isBlank(value)) return null;
  const number = typeof value === "string" && /^-?(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/i.test(value) ? Number(value) : value;
  return Number.isFinite(number) ? positiveZero(number as number) : refuse(name, "input.number");
};

/** `-0` would not equal the `0` that it is written as. */
function positiveZero(number: number): number {
  return number === 0 ? 0 : number;
}

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  ["true", true],
  ["1", true],
  ["on", true],
  ["yes", true],
  [false, false],
  ["false", false],
  ["0", false],
  ["off", false],
  ["no", false],
]);

/** A boolean: `true` or `false`, or the text `true`, `false`, `1`, `0`, `on`, `off`, `yes`, `no`, in any case. */
export const readBoolean: InputReader<boolean> = (name, value) => {
  if (isBlank(value)) return null;
  const known = BOOLEANS.get(typeof value === "string" ? value.toLowerCase() : value);
  return known ?? refuse(name, "input.boolean");
};

const DATE =
  /^(\d{4})-(\d\d)-(\d\d)(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/;

/** A date (midnight UTC) or a date with time in the extended form of ISO 8601; without an offset it is UTC. */
export const readDate: InputReader<Date> = (name, value) => {
  if (isBlank(value)) return null;
  const match = typeof value === "string" ? DATE.exec(value) : null;
  if (match === null) return refuse(name, "input.date");
  const [text, year, month, day, hour, , , offset] = match;
  if (!isCalendarDay(Number(year), Number(month), Number(day))) refuse(name, "input.day");
  // By default, the engine would read a time without an offset in the server's own time zone.
  return new Date(hour !== undefined && offset === undefined ? `${text}Z` : text);
};

function isCalendarDay(year: number, month: number, day: number): boolean {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}

/** One of the given texts. Blank text counts as absent unless it is one of them. */
export function readEnum<T extends string>(name: string, value: unknown, values: readonly T[]): T | null {
  const found = values.find((one) => one === value);
  if (found !== undefined) return found;
  if (isBlank(value)) return null;
  return refuseBy(name, message("input.choice", { name, choices: values.map((one) => `"${one}"`).join(", ") }));
}

/** A list, whatever its elements are. */
export const readArray: InputReader<unknown[]> = (name, value) => {
  if (isAbsent(value)) return null;
  return Array.isArray(value) ? value : refuse(name, "input.list");
};

/** Reports whether an input has something in it: not `null`, blank text, or an empty list or object. */
export function isFilled(value: unknown): boolean {
  if (isBlank(value)) return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isPlainObject(value) || Object.keys(value).length > 0;
}
