import { AshlarError, isPlainObject, isPrototypeName } from "../../support/index.ts";
import "../errors.ts";

const MAX_DEPTH = 32;
const MAX_KEY_LENGTH = 128;

/** The prefix of the framework's own keys in a session. */
export const OWN_PREFIX = "__";

/**
 * Checks a value's key.
 *
 * @throws `E_SESSION` if it is empty, longer than 128 characters, begins with `__`, or could lead to a prototype
 */
export function checkKey(key: string): void {
  if (
    typeof key === "string" &&
    key !== "" &&
    key.length <= MAX_KEY_LENGTH &&
    !key.startsWith(OWN_PREFIX) &&
    !isPrototypeName(key)
  ) {
    return;
  }
  throw new AshlarError(
    "E_SESSION",
    `${JSON.stringify(key)} cannot be a key of the session: keys have 1 to ${MAX_KEY_LENGTH} characters and do not begin with "__".`,
  );
}

/**
 * Returns a frozen copy of a value, as the next request will get it. Only values that JSON can hold unchanged are
 * allowed.
 *
 * @param key the value's key, for messages
 * @throws `E_SESSION` if the value, or anything in it, can't be JSON; the message does not include the value
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
