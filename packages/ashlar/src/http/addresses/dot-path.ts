import { type Dictionary, isPlainObject, isPrototypeName } from "../../support/index.ts";

/** The result for a path that does not exist, because an input can be `null`. */
export const ABSENT: unique symbol = Symbol("absent");

/**
 * Returns the value at a path: `a.b.c`, with indexes for lists (`a.0.b`) and `*` for all values of a list or an object.
 *
 * A member whose name is literally the path takes precedence. `*` produces one flat list, without the values that lack
 * the member; if all lack it, the path does not exist.
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
    // The list that an inner `*` produced belongs to this function; a list that is a value is not flattened.
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
