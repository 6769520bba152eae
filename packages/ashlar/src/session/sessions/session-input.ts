import { type Dictionary, dictionary, isPlainObject, isPrototypeName, isSecretName } from "../../support/index.ts";

const MAX_DEPTH = 16;

/** The overhead of JSON around the old input in a session, in bytes. */
export const ROOM_AROUND_INPUT = 32;

/**
 * The inputs that can be filled into a form again. Passwords, tokens and secrets are left out, by their names and at
 * any depth, and so are the framework's own inputs (`__token`) and what JSON cannot hold, such as files.
 *
 * Security: only names are considered. A secret under another name is kept.
 */
export function refillableInput(input: Readonly<Dictionary>): Dictionary {
  const result = dictionary();
  for (const [name, value] of Object.entries(input)) {
    if (name.startsWith("__") || !mayBeKept(name)) continue;
    const kept = keep(value, 1);
    if (kept !== undefined) result[name] = kept;
  }
  return result;
}

function mayBeKept(name: string): boolean {
  return !isSecretName(name) && !isPrototypeName(name);
}

function keep(value: unknown, depth: number): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (depth >= MAX_DEPTH) return undefined;
  // A list keeps its positions, because leaving out an entry would rename the following ones.
  if (Array.isArray(value)) return value.map((item) => keep(item, depth + 1) ?? null);
  if (!isPlainObject(value)) return undefined;
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const kept = mayBeKept(name) ? keep(member, depth + 1) : undefined;
    if (kept !== undefined) result[name] = kept;
  }
  return result;
}

/**
 * As many of the inputs as fit into this many bytes of JSON: the short ones first, because forms have more of those.
 */
export function fittingInput(input: Readonly<Dictionary>, maxBytes: number): Dictionary {
  const sized = Object.entries(input).map(([name, value]) => {
    return { name, value, bytes: Buffer.byteLength(JSON.stringify({ [name]: value })) };
  });
  const result = dictionary();
  let left = maxBytes;
  for (const { name, value, bytes } of sized.sort((a, b) => a.bytes - b.bytes)) {
    left -= bytes;
    if (left < 0) break;
    result[name] = value;
  }
  return result;
}

/** The value at a path of inputs: `name`, `items.0.name`; `undefined` if there isn't one. */
export function inputAt(input: unknown, path: string): unknown {
  if (hasMember(input, path)) return input[path];
  let value = input;
  for (const name of path.split(".")) {
    if (!hasMember(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function hasMember(value: unknown, name: string): value is Dictionary {
  if (Array.isArray(value)) return /^\d+$/.test(name);
  return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}
