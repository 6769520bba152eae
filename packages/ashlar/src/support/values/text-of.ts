/**
 * The text of any value, as `String` has it. An object that has no text, such as one without a prototype, is written as JSON,
 * and is blank if that is impossible too. It never throws: a column may hold anything.
 */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return jsonOf(value);
  }
}

/** A value as JSON; blank if it can't be written as JSON. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}
