import { isDeepStrictEqual } from "node:util";
import { isPlainObject } from "../../support/index.ts";
import { shown } from "../failure.ts";

/** The result for a path that does not exist. */
export const NOWHERE: unique symbol = Symbol("nowhere");

/**
 * Returns the value at a path in a JSON value: `data.0.name`, `data.*.name` for the list of all names; {@link NOWHERE}
 * if the path does not exist.
 */
export function valueAt(value: unknown, path: string): unknown {
  return path === "" ? value : descend(value, path.split("."));
}

function descend(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null) return NOWHERE;
  if (name === "*") {
    const members = Object.values(value).map((member) => descend(member, rest));
    return members.filter((member) => member !== NOWHERE);
  }
  return Object.hasOwn(value, name) ? descend((value as Record<string, unknown>)[name], rest) : NOWHERE;
}

/** Converts a value to JSON and back: models and dates become the JSON that the application would send. */
export function asJson(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/**
 * Finds the first place where a JSON value lacks an expected part: objects may have more members, lists may not.
 *
 * @returns a sentence, or `null` if the value contains the part
 */
export function missingPart(actual: unknown, expected: unknown, path = ""): string | null {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differs(path, actual, "a list");
    if (actual.length !== expected.length) {
      return `${place(path)} has ${actual.length} elements instead of ${expected.length}.`;
    }
    return firstMissing(expected.map((part, index) => missingPart(actual[index], part, joined(path, String(index)))));
  }
  if (isPlainObject(expected)) {
    if (!isPlainObject(actual)) return differs(path, actual, "an object");
    return firstMissing(
      Object.entries(expected).map(([name, part]) => {
        if (!Object.hasOwn(actual, name)) return `There is nothing at "${joined(path, name)}".`;
        return missingPart(actual[name], part, joined(path, name));
      }),
    );
  }
  return isDeepStrictEqual(actual, expected) ? null : differs(path, actual, shown(expected));
}

function firstMissing(results: readonly (string | null)[]): string | null {
  return results.find((result) => result !== null) ?? null;
}

function differs(path: string, actual: unknown, expected: string): string {
  return `${place(path)} is ${shown(actual)} instead of ${expected}.`;
}

function place(path: string): string {
  return path === "" ? "The value" : `"${path}"`;
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
