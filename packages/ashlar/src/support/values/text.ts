/**
 * Converts any value to text, like `String`. An object that can't be converted, such as one without a prototype,
 * becomes JSON, or `""` if that is impossible too. Never throws, because a column may contain anything.
 */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return jsonOf(value);
  }
}

/** A value as JSON; `""` if it can't be converted. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML, between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** A number with its unit: `1 minute`, `2 minutes`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
