import { isPlainObject, isSecretName, type MessageParams } from "../../support/index.ts";
import type { SchemaIssue } from "./standard-schema.ts";

/** The minimum length of a text that matches without quotes. Shorter texts occur in sentences by chance. */
const MIN_UNQUOTED_LENGTH = 4;
/** How many characters are compared, because libraries may shorten what they quote. */
const MAX_COMPARED_LENGTH = 32;

/** A text in the input. */
interface InputText {
  readonly text: string;
  /** Whether its name is that of a secret. */
  readonly isSecret: boolean;
  /** Whether the sentence is about the list or object that contains it. */
  readonly isMember: boolean;
}

/**
 * Reports whether a schema's message repeats the input that it is about, as Valibot's and ArkType's do: `Expected "a"
 * but received "b"`. Messages are stored in sessions and shown on pages, so they must not contain passwords.
 *
 * A text matches in quotes, or, if it has at least four characters, without quotes. Among the members of a list or an
 * object, only secrets match without quotes. A sentence about a secret may not quote anything, because the quotation is
 * either the input or the value that it is compared with. The same applies to numbers, except for the limits of its
 * rule.
 *
 * @param field the issue's path, as it is named in errors by field
 * @param params the limits of the issue's rule
 * @param input everything that was validated
 */
export function repeatsInput(issue: SchemaIssue, field: string, params: MessageParams, input: unknown): boolean {
  const sentence = comparable(issue.message);
  const isSecret = isSecretName(field);
  // A schema may have changed the input before comparing it. Valibot's issues contain the result.
  const { input: changed } = issue as SchemaIssue & { readonly input?: unknown };
  const values = [valueAt(input, issue.path ?? []), changed];
  if (isSecret && (/"[^"]/.test(sentence) || hasNumber(sentence, values.some(isNumber), params))) return true;
  return values.some((value) => textsIn(value, isSecret).some((one) => repeatsText(sentence, one)));
}

/**
 * Reports whether a sentence contains a number that isn't one of the limits.
 *
 * @param isAboutNumber whether the input is a number; otherwise, short numbers may occur, as in "Use 12 characters."
 */
function hasNumber(sentence: string, isAboutNumber: boolean, params: MessageParams): boolean {
  const minLength = isAboutNumber ? 1 : MIN_UNQUOTED_LENGTH;
  const limits = new Set(Object.values(params).map(Number));
  const numbers = sentence.match(/\d+(?:\.\d+)?/g) ?? [];
  return numbers.some((number) => number.length >= minLength && !limits.has(Number(number)));
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function repeatsText(sentence: string, { text, isSecret, isMember }: InputText): boolean {
  // A text may be quoted as JSON, with escaped characters.
  return [text, JSON.stringify(text).slice(1, -1)].some((form) => {
    const whole = comparable(form);
    const start = whole.slice(0, MAX_COMPARED_LENGTH);
    if (start === "") return false;
    if (sentence.includes(`"${start}${start === whole ? '"' : ""}`)) return true;
    return (isSecret || !isMember) && start.length >= MIN_UNQUOTED_LENGTH && sentence.includes(start);
  });
}

/** Libraries escape quotes in different ways. */
function comparable(text: string): string {
  return text.replaceAll("\\", "").trim();
}

function textsIn(value: unknown, isSecret: boolean): InputText[] {
  const texts: InputText[] = [];
  const open = [{ value, isSecret, isMember: false }];
  for (const { value: at, ...about } of open) {
    if (typeof at === "string") texts.push({ text: at, ...about });
    // A number may be a PIN.
    else if (about.isSecret && isNumber(at)) texts.push({ text: `${at}`, ...about });
    else if (Array.isArray(at) || isPlainObject(at)) {
      for (const [name, member] of Object.entries(at)) {
        open.push({ value: member, isSecret: about.isSecret || isSecretName(name), isMember: true });
      }
    }
  }
  return texts;
}

function valueAt(input: unknown, path: NonNullable<SchemaIssue["path"]>): unknown {
  let value = input;
  for (const segment of path) {
    const key = typeof segment === "object" ? segment.key : segment;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
