import { withBase } from "../../http/index.ts";
import { type Assertion, failure, listed } from "../failure.ts";
import type { HtmlForm } from "./html-forms.ts";

const PART = /#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:([$^*]?)=(?:"([^"]*)"|'([^']*)'|([^\]"']*)))?\]/y;

type Test = (attributes: ReadonlyMap<string, string>) => boolean;

/**
 * Finds a form: the selector's form, or the only one with all the fields.
 *
 * @param selector `#login`, `.search`, `[action="/orders"]`, `[action^="/orders"]`, or several combined; `null` for none
 * @param fields the fields that will be filled in
 * @param page the page's name in messages
 * @throws `AssertionError` if there isn't one, or more than one
 */
export function chooseForm(
  forms: readonly HtmlForm[],
  selector: string | null,
  fields: readonly string[],
  page: string,
  caller: Assertion,
): HtmlForm {
  const named = selector === null ? forms : forms.filter(matcher(selector, caller));
  if (named.length === 1) return named[0]!;
  const all = `The page has ${forms.length === 0 ? "no form." : `these forms:${forms.map(account).join("")}`}`;
  if (named.length === 0) {
    const problem = selector === null ? "" : `No form is selected by ${selector}. `;
    throw failure(`${problem}${all}\n${page}`, caller);
  }
  const fitting = named.filter((form) => fields.length > 0 && fields.every((field) => form.fields.includes(field)));
  if (fitting.length === 1) return fitting[0]!;
  const which = fitting.length === 0 ? "None of the forms has all of these fields" : "Several forms have these fields";
  const problem = fields.length === 0 ? "There are several forms" : `${which}: ${listed(fields)}`;
  throw failure(`${problem}. Say which one is meant, such as "#login". ${all}`, caller);
}

function account(form: HtmlForm): string {
  return `\n  ${form} with ${listed(form.fields)}`;
}

function matcher(selector: string, caller: Assertion): (form: HtmlForm) => boolean {
  const tests: Test[] = [];
  const text = selector.trim().replace(/^form(?=[#.[]|$)/i, "");
  for (let position = 0; position < text.length; position = PART.lastIndex) {
    PART.lastIndex = position;
    const match = PART.exec(text);
    if (match === null) {
      throw failure(
        `${selector} selects no form: write "#id", ".class" or '[name="value"]', or these in a row.`,
        caller,
      );
    }
    tests.push(testOf(match));
  }
  return ({ attributes }) => tests.every((test) => test(attributes));
}

function testOf([, id, className, name, operator, double, single, bare]: RegExpExecArray): Test {
  if (id !== undefined) return (attributes) => attributes.get("id") === id;
  if (className !== undefined) {
    return (attributes) => attributes.get("class")?.split(/\s+/).includes(className) ?? false;
  }
  const wanted = double ?? single ?? bare;
  return (attributes) => {
    const value = attributes.get(name!.toLowerCase());
    if (value === undefined || wanted === undefined) return value !== undefined;
    if (operator === "^") return value.startsWith(wanted);
    if (operator === "$") return value.endsWith(wanted);
    return operator === "*" ? value.includes(wanted) : value === wanted;
  };
}

/** Adds the path of `APP_URL` to a selector by action. Returns any other selector unchanged. */
export function based(selector: string | null, basePath: string): string | null {
  return selector?.replace(/(?<=^\[action=")\/[^"]*(?="\]$)/, (path) => withBase(basePath, path)) ?? null;
}
