/** The fields of a form or a query, in the order they came. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/** What the hidden field of a checkbox says, for when the box is not ticked. */
const UNTICKED: ReadonlySet<string> = new Set(["", "0", "false", "off", "no"]);

/**
 * The names of fields that came more than once although they are not lists, so that all values but the last are lost: those
 * of a `<select multiple>`, or of a group of checkboxes, whose name lacks its `[]`.
 *
 * A hidden field before a checkbox of the same name does that on purpose, and is left out.
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
