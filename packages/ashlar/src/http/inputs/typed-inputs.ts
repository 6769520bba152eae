import { type Dictionary, isPlainObject, isPrototypeName, type Message, ValidationError } from "../../support/index.ts";
import { type HTTP_MESSAGES, message } from "../messages.ts";

/** The result for a path that doesn't exist. It can't be `null`, because an input can be. */
export const ABSENT: unique symbol = Symbol("absent");

/**
 * Returns the value at a path: `a.b.c`, with indexes for lists (`a.0.b`) and `*` for all values of a list or an object.
 *
 * A member whose name is literally the path takes precedence. `*` returns one flat list, without values that lack the
 * member. If all of them lack it, the path doesn't exist.
 *
 * @returns {@link ABSENT} if the path does not exist
 */
export function getPath(root: Dictionary | readonly unknown[], path: string): unknown {
  const literal = member(root, path);
  if (literal !== ABSENT || (!path.includes(".") && path !== "*")) return literal;
  return follow(root, path.split("."), 0);
}

function member(container: unknown, key: string): unknown {
  if (Array.isArray(container))
    return /^(?:0|[1-9]\d*)$/.test(key) && Object.hasOwn(container, key) ? container[Number(key)] : ABSENT;
  if (!isPlainObject(container) || isPrototypeName(key) || !Object.hasOwn(container, key)) return ABSENT;
  return container[key];
}

function values(container: unknown): readonly unknown[] | null {
  if (Array.isArray(container)) return container;
  return isPlainObject(container) ? Object.values(container) : null;
}

function follow(from: unknown, keys: readonly string[], start: number): unknown {
  let at = from;
  for (let index = start; index < keys.length; index++) {
    if (keys[index] === "*") return spread(at, keys, index + 1);
    at = member(at, keys[index]!);
    if (at === ABSENT) return ABSENT;
  }
  return at;
}

function spread(container: unknown, keys: readonly string[], next: number): unknown {
  const all = values(container);
  if (all === null) return ABSENT;
  if (next === keys.length) return [...all];
  const nested = keys.includes("*", next);
  const found: unknown[] = [];
  let led = all.length === 0;
  for (const value of all) {
    const result = follow(value, keys, next);
    if (result === ABSENT) continue;
    led = true;
    // A list from an inner `*` is flattened; a list that is a value isn't.
    if (nested) for (const one of result as readonly unknown[]) found.push(one);
    else found.push(result);
  }
  return led ? found : ABSENT;
}

/** Removes the value at a path, in place; does nothing if the path does not exist. */
export function removePath(root: Dictionary, path: string): void {
  if (Object.hasOwn(root, path)) delete root[path];
  else remove(root, path.split("."), 0);
}

function remove(container: unknown, keys: readonly string[], index: number): void {
  const key = keys[index]!;
  if (index < keys.length - 1) {
    const next = key === "*" ? (values(container) ?? []) : [member(container, key)];
    for (const value of next) remove(value, keys, index + 1);
  } else if (Array.isArray(container)) {
    if (key === "*") container.length = 0;
    else if (member(container, key) !== ABSENT) container.splice(Number(key), 1);
  } else if (isPlainObject(container)) {
    for (const name of key === "*" ? Object.keys(container) : [key]) delete container[name];
  }
}

/**
 * Reads one input as one type.
 *
 * @param name the input's name, for the error
 * @param value the input, or {@link ABSENT}
 * @returns `null` if the input is absent or `null`
 * @throws `E_INVALID_INPUT` if it is anything else
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
 * Whether an input is absent or blank. A form sends an empty text for a field that wasn't filled in, so blank text
 * counts as absent unless text is wanted.
 */
function isBlank(value: unknown): boolean {
  return isAbsent(value) || (typeof value === "string" && value.trim() === "");
}

/** Text, including blank text. Nothing else is converted to text. */
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

/** Converts `-0` to `0`, because `-0` is written as `0` but doesn't equal it everywhere. */
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

/** A date (midnight UTC) or a date with time in the extended form of ISO 8601, in UTC if it has no offset. */
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
