import { AshlarError, type Dictionary, dictionary, isPlainObject, isPrototypeName } from "../../support/index.ts";
import "../errors.ts";

const MAX_DEPTH = 32;
const MAX_KEY_LENGTH = 128;

/** The prefix of the framework's own keys in a session. */
const OWN = "__";

/** A session's contents between two requests. */
export interface SessionContents {
  /** Values that stay until they are removed. */
  readonly data: Dictionary;
  /** Values that only the next request sees. */
  readonly flash: Dictionary;
  /**
   * Whether something outside depends on the session's id, such as a form's token, so that an empty session is kept
   * too.
   */
  readonly isIdentified: boolean;
}

/**
 * Checks the key of a value.
 *
 * @throws `E_SESSION` if it is empty, longer than 128 characters, begins with `__`, or could lead to a prototype
 */
export function checkKey(key: string): void {
  if (
    typeof key === "string" &&
    key !== "" &&
    key.length <= MAX_KEY_LENGTH &&
    !isOwnKey(key) &&
    !isPrototypeName(key)
  ) {
    return;
  }
  throw new AshlarError(
    "E_SESSION",
    `${JSON.stringify(key)} cannot be a key of the session: keys have 1 to ${MAX_KEY_LENGTH} characters and do not begin with "__".`,
  );
}

/** Reports whether a key is one of the framework's own. */
export function isOwnKey(key: string): boolean {
  return key.startsWith(OWN);
}

/**
 * Returns a frozen copy of a value as the next request will see it: only what JSON can hold without changing it.
 *
 * @param key the value's key, for messages
 * @throws `E_SESSION` if the value, or anything in it, is not JSON; the message does not include it
 */
export function toSessionValue(key: string, value: unknown): unknown {
  return copy(key, value, 0);
}

function copy(path: string, value: unknown, depth: number): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (Number.isFinite(value)) return value;
  if (depth > MAX_DEPTH) throw refusal(path, `is nested deeper than ${MAX_DEPTH} levels.`);
  if (Array.isArray(value)) {
    return Object.freeze(Array.from(value, (item, index) => copy(`${path}.${index}`, item, depth + 1)));
  }
  if (!isPlainObject(value)) throw refusal(path, `is ${kindOf(value)}.`);
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    if (isPrototypeName(name)) throw refusal(path, "has a member whose name could lead to a prototype.");
    if (member !== undefined) result[name] = copy(`${path}.${name}`, member, depth + 1);
  }
  return Object.freeze(result);
}

function kindOf(value: unknown): string {
  if (typeof value === "object") return `an instance of ${Object.getPrototypeOf(value).constructor?.name ?? "a class"}`;
  return typeof value === "number" ? String(value) : `of type ${typeof value}`;
}

function refusal(path: string, problem: string): AshlarError {
  const allowed = "A session holds what JSON can hold: text, finite numbers, booleans, null, lists and plain objects.";
  return new AshlarError("E_SESSION", `The session's value "${path}" ${problem} ${allowed}`);
}

/** Freezes a value that was parsed from JSON, to any depth. */
export function freezeParsed<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeParsed(member);
  return Object.freeze(value);
}

/** The contents as text; `null` if nothing has to be kept. */
export function encodeContents({ data, flash, isIdentified }: SessionContents): string | null {
  const contents: Record<string, unknown> = {};
  if (Object.keys(data).length > 0) contents.d = data;
  if (Object.keys(flash).length > 0) contents.f = flash;
  if (isIdentified) contents.i = 1;
  return Object.keys(contents).length === 0 ? null : JSON.stringify(contents);
}

/** The contents encoded in a text; `null` if it does not come from {@link encodeContents}. */
export function decodeContents(text: string): SessionContents | null {
  const contents = parse(text);
  if (!isPlainObject(contents)) return null;
  const { d: data = {}, f: flash = {}, i: identified } = contents;
  if (!isPlainObject(data) || !isPlainObject(flash)) return null;
  return { data: frozenMembers(data), flash: frozenMembers(flash), isIdentified: identified === 1 };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function frozenMembers(values: Readonly<Dictionary>): Dictionary {
  const result = dictionary();
  for (const [key, value] of Object.entries(values)) {
    if (!isPrototypeName(key)) result[key] = freezeParsed(value);
  }
  return result;
}
