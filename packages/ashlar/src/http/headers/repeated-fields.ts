/** The fields of a form or a query, in order. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/** The value of a checkbox's hidden field, sent when the box is not checked. */
const UNTICKED: ReadonlySet<string> = new Set(["", "0", "false", "off", "no"]);

/**
 * Returns the names of fields that were sent more than once although they are not lists, so that all values but the last
 * are lost: a `<select multiple>`, or a group of checkboxes, whose name lacks its `[]`.
 *
 * A hidden field before a checkbox of the same name is intentional, and is skipped.
 */
export function repeatedFields(fields: FormFields): string[] {
  const firstValues = new Map<string, string>();
  const repeated = new Map<string, number>();
  for (const [name, value] of fields) {
    if (name.includes("[]")) continue;
    if (firstValues.has(name)) repeated.set(name, (repeated.get(name) ?? 1) + 1);
    else firstValues.set(name, value);
  }
  return [...repeated]
    .filter(([name, count]) => count > 2 || !UNTICKED.has(firstValues.get(name)!))
    .map(([name]) => name);
}
