import {
  type Dictionary,
  dictionary,
  type FieldErrors,
  isPlainObject,
  isPrototypeName,
  isSecretName,
  type Message,
} from "../../support/index.ts";
import type { RequestSession } from "./request-session.ts";
import type { TypedForm } from "./session.ts";

const MAX_DEPTH = 16;

/** The overhead of JSON around the old input in a session, in bytes. */
export const ROOM_AROUND_INPUT = 32;

/** The room that a session must keep free, in addition to the input, until its user has logged in, in bytes. */
const ROOM_UNTIL_LOGIN = 768;

/** How much of the input is kept in a session. */
export type KeptInput = "all" | "some" | "none";

/**
 * The inputs that can be filled into a form again. Leaves out passwords, tokens and secrets, by name and at any depth,
 * and also the framework's own inputs (`__token`) and values that JSON can't hold, such as files.
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

/** As many inputs as fit into this many bytes of JSON. Short ones come first, because forms have more of them. */
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

/** The input at a path, such as `name` or `items.0.name`; `undefined` if there isn't one. */
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

/**
 * Keeps what the next page needs to show a form again: the messages, and as much input as fits.
 *
 * @returns whether all of it fits
 */
export function flashMistakes(
  held: RequestSession,
  errors: Readonly<FieldErrors>,
  input: Readonly<Dictionary>,
  summary: Message,
): boolean {
  const { session } = held;
  session.flashErrors(errors);
  // A list of a thousand entries can have a thousand mistakes.
  const areSummarized = held.room < ROOM_AROUND_INPUT;
  if (areSummarized) session.flashErrors({ "": [summary] });
  return flashTyped(held, refillableInput(input)) === "all" && !areSummarized;
}

/**
 * Keeps as much of the input as fits, for the next page.
 *
 * @param typed the input, without secrets or anything else that must not be kept
 * @returns how much was kept; `"all"` if there was nothing to keep
 */
export function flashTyped(held: RequestSession, typed: Readonly<Dictionary>): KeptInput {
  const kept = fittingInput(typed, held.room - ROOM_AROUND_INPUT);
  held.session.flashInput(kept);
  return howMuch(kept, typed);
}

/**
 * Keeps as much of a user's input as fits, until the same user opens the form's page again. Pages in between, such as
 * the login page, don't use it up. It replaces any input that was kept before.
 *
 * @param form the form, without inputs that must not be kept
 * @returns how much was kept
 */
export function keepTyped(held: RequestSession, form: TypedForm): KeptInput {
  const { session } = held;
  session.keepTyped({ ...form, input: {} });
  const input = fittingInput(form.input, held.room - ROOM_UNTIL_LOGIN);
  const kept = howMuch(input, form.input);
  session.keepTyped(kept === "none" ? null : { ...form, input });
  return kept;
}

function howMuch(kept: Readonly<Dictionary>, typed: Readonly<Dictionary>): KeptInput {
  const count = Object.keys(kept).length;
  if (count === Object.keys(typed).length) return "all";
  return count === 0 ? "none" : "some";
}
