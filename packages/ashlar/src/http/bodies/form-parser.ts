import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../../support/index.ts";
import { decodeBodyText } from "../headers/media-types.ts";
import { message } from "../messages.ts";
import "../errors.ts";

/** The fields of a form or a query, in order. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/** The value of a checkbox's hidden field, sent when the box is not checked. */
const UNTICKED: ReadonlySet<string> = new Set(["", "0", "false", "off", "no"]);

/**
 * Returns the names of fields that were sent more than once although they aren't lists, so that all values but the last
 * are lost. An example is a `<select multiple>` or a group of checkboxes whose name lacks `[]`.
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

/** How many pairs of brackets a name may have. */
const MAX_BRACKETS = 5;

/** The error code for a malformed form: the first for a query, the second for a body. */
export type FormErrorCode = "E_BAD_REQUEST" | "E_INVALID_BODY";

/** A container while the form is being parsed. Whether it is a list or an object is decided at the end. */
class Branch<T> {
  readonly children = new Map<string, T | Branch<T>>();
  /** The index that the next `[]` gets. */
  nextIndex = 0;

  set(key: string, child: T | Branch<T>): void {
    if (isIndex(key)) this.nextIndex = Math.max(this.nextIndex, Number(key) + 1);
    this.children.set(key, child);
  }

  append(child: T | Branch<T>): void {
    this.children.set(String(this.nextIndex++), child);
  }
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d{0,14})$/.test(key);
}

/**
 * Parses an urlencoded form or a query into a dictionary, like {@link nestFields}.
 *
 * In a query, a percent sign that doesn't begin an escape stands for itself, and bytes that aren't UTF-8 become U+FFFD,
 * as in the URL standard, because people type queries, and append text from elsewhere. In a body, both are refused.
 *
 * @param text the form, without a leading `?`
 * @param maxFields how many fields it may have
 * @param look receives the fields before their names are parsed
 * @throws the given code if a body is malformed (percent-encoding, UTF-8), or either has too many fields or is nested
 * too deeply
 */
export function parseForm(
  text: string,
  maxFields: number,
  code: FormErrorCode,
  look: ((fields: FormFields) => void) | null = null,
): Dictionary {
  const fields: [string, string][] = [];
  for (let start = 0; start < text.length; ) {
    const ampersand = text.indexOf("&", start);
    const end = ampersand === -1 ? text.length : ampersand;
    if (end > start) {
      if (fields.length === maxFields) throw new AshlarError(code, message("form.fields", { max: maxFields }));
      const equals = text.indexOf("=", start);
      const nameEnd = equals === -1 || equals > end ? end : equals;
      fields.push([decode(text.slice(start, nameEnd), code), decode(text.slice(nameEnd + 1, end), code)]);
    }
    start = end + 1;
  }
  look?.(fields);
  return nestFields(fields, code);
}

/**
 * Parses the query of a URL, like {@link parseForm}.
 *
 * @param text the query, without its `?`
 * @throws `E_BAD_REQUEST` if it is not UTF-8, has too many fields or is nested too deeply
 */
export function parseQuery(
  text: string,
  maxFields: number,
  look: ((fields: FormFields) => void) | null = null,
): Dictionary {
  return parseForm(queryText(text), maxFields, "E_BAD_REQUEST", look);
}

/**
 * Decodes a query that isn't pure ASCII. The client means UTF-8, but `node:http` passes each byte on as one character.
 */
function queryText(text: string): string {
  if (!/[\u0080-\uffff]/.test(text)) return text;
  try {
    if (!/[\u0100-\uffff]/.test(text)) return decodeBodyText(Buffer.from(text, "latin1"));
  } catch {
    // Reported below, as a problem with the query rather than the body.
  }
  throw new AshlarError("E_BAD_REQUEST", message("query.utf8"));
}

function decode(text: string, code: FormErrorCode): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    if (code === "E_BAD_REQUEST") return decodeLeniently(spaced);
    throw new AshlarError(code, message("form.encoding"));
  }
}

/** URL Standard §1.3, "percent-decode", and "UTF-8 decode without BOM". */
function decodeLeniently(text: string): string {
  const bytes = text
    .replaceAll(/\P{ASCII}+/gu, (others) => encodeURIComponent(others.toWellFormed()))
    .replaceAll(/%([\da-f]{2})/gi, (_, digits: string) => {
      return String.fromCharCode(Number.parseInt(digits, 16));
    });
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/**
 * Builds a dictionary from a form's fields, using the brackets in their names.
 *
 * `a[b]=1` is a member of the object `a`; `a[]=1` an element of the list `a`. Each `[]` is a separate element:
 * `a[][b]=1&a[][c]=2` are two objects, `a[0][b]=1&a[0][c]=2` is one. Indexes that run from 0 without gaps make a list;
 * others make an object. If a name has both a text and members, the later one replaces the earlier one. A name with
 * unbalanced brackets is used literally.
 *
 * @throws the given code if brackets are nested too deeply
 */
export function nestFields<T>(fields: Iterable<readonly [name: string, value: T]>, code: FormErrorCode): Dictionary {
  const root = new Branch<T>();
  for (const [name, value] of fields) {
    const path = splitName(name, code);
    if (path[0] !== "" && !path.some(isPrototypeName)) insert(root, path, value);
  }
  return toDictionary(root);
}

/** Splits `a[b][]` into `["a", "b", ""]`. */
function splitName(name: string, code: FormErrorCode): string[] {
  const bracket = name.indexOf("[");
  if (bracket < 1 || !name.endsWith("]")) return [name];
  const keys = name.slice(bracket + 1, -1).split("][");
  if (keys.some((key) => key.includes("[") || key.includes("]"))) return [name];
  if (keys.length > MAX_BRACKETS) {
    throw new AshlarError(code, message("form.brackets", { max: MAX_BRACKETS }));
  }
  return [name.slice(0, bracket), ...keys];
}

function insert<T>(root: Branch<T>, path: readonly string[], value: T): void {
  let branch = root;
  for (let depth = 0; depth < path.length - 1; depth++) {
    branch = descend(branch, path[depth]!);
  }
  const key = path[path.length - 1]!;
  // Only a bracket can be empty; the name before the brackets never is.
  if (key === "") branch.append(value);
  else branch.set(key, value);
}

function descend<T>(branch: Branch<T>, key: string): Branch<T> {
  const existing = key === "" ? undefined : branch.children.get(key);
  if (existing instanceof Branch) return existing;
  const made = new Branch<T>();
  if (key === "") branch.append(made);
  else branch.set(key, made);
  return made;
}

function toDictionary<T>(branch: Branch<T>): Dictionary {
  const result = dictionary();
  for (const [key, child] of branch.children) result[key] = finish(child);
  return result;
}

function finish<T>(child: T | Branch<T>): unknown {
  if (!(child instanceof Branch)) return child;
  const list: unknown[] = [];
  for (let index = 0; index < child.children.size; index++) {
    const member = child.children.get(String(index));
    // There is a gap: `a[1000000]=x` is an object with one member, not a list of a million elements.
    if (member === undefined) return toDictionary(child);
    list.push(finish(member));
  }
  return list;
}
