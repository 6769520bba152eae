import { type FormEntry, submissionOf } from "../../src/testing/html/form-filling.ts";
import {
  ancestorsOf,
  attributesOf,
  elementsOf,
  type HtmlElement,
  parseHtml,
  textIn,
} from "../../src/testing/html/html-document.ts";
import { type FormControl, formsOf, type HtmlForm } from "../../src/testing/html/html-forms.ts";

/** What a visitor enters into a form, by the labels of its fields; `true` ticks a box, and text chooses an option. */
export type Filling = Readonly<Record<string, string | true>>;

/** A form as it is sent. */
export interface FilledForm {
  /** As in the page; empty for the page itself. */
  readonly action: string;
  readonly entries: readonly FormEntry[];
}

/** A page's form, as a visitor sees it. */
export interface VisibleForm {
  readonly form: HtmlForm;
  /** The control of each label. */
  readonly labels: ReadonlyMap<string, FormControl>;
  /** The texts of its buttons. */
  readonly buttons: readonly string[];
}

/** Returns the forms of a page, in order. */
export function visibleForms(html: string): VisibleForm[] {
  const elements = [...elementsOf(parseHtml(html).root)];
  const formElements = elements.filter(({ tagName }) => tagName === "form");
  const labels = elements.filter(({ tagName }) => tagName === "label");
  const buttons = elements.filter(({ tagName }) => tagName === "button");
  return formsOf(html).map((form, index) => {
    const byId = new Map(form.controls.map((control) => [control.attributes.get("id"), control]));
    const labeled = labels.flatMap((label): [string, FormControl][] => {
      const control = byId.get(attributesOf(label).get("for") ?? "");
      return control === undefined ? [] : [[shownText(label), control]];
    });
    const own = buttons.filter((button) => [...ancestorsOf(button)].includes(formElements[index]!));
    return { form, labels: new Map(labeled), buttons: own.map(shownText) };
  });
}

/** The value that a browser sends for text typed into a field of a type such as `email`. */
export type Typing = (type: string, text: string) => string;

const AS_TYPED: Typing = (_, text) => text;

/**
 * Fills in the first form with these labels and this button, like a visitor, who doesn't know the fields' names.
 *
 * @param button the text of the button to press
 * @throws if the page has no such form, or a field wouldn't be sent
 */
export function fillIn(html: string, filling: Filling, button: string, typing: Typing = AS_TYPED): FilledForm {
  const wanted = Object.keys(filling);
  const forms = visibleForms(html);
  const found = forms.find(
    ({ labels, buttons }) => buttons.includes(button) && wanted.every((label) => labels.has(label)),
  );
  if (found !== undefined) return fillForm(found, filling, typing);
  const shown = forms.map(({ labels, buttons }) => `[${[...labels.keys(), ...buttons].join(", ")}]`);
  throw new Error(`No form has ${[...wanted, button].join(", ")}, but: ${shown.join(" ") || html}`);
}

/** Fills in a form, and presses its first button. */
export function fillForm({ form, labels }: VisibleForm, filling: Filling, typing: Typing = AS_TYPED): FilledForm {
  const values: Record<string, string | string[]> = {};
  for (const [label, value] of Object.entries(filling)) {
    const control = labels.get(label)!;
    if (control.name === "") throw new Error(`The field "${label}" would not be sent: its name is empty.`);
    if (control.kind === "checkbox") values[control.name] = [...(values[control.name] ?? []), control.value];
    else values[control.name] = enteredValue(control, String(value), typing);
  }
  const { action, entries } = submissionOf(form, values, fillForm);
  return { action, entries };
}

function enteredValue({ kind, options, attributes }: FormControl, value: string, typing: Typing): string {
  if (kind === "select") return options.find(({ label }) => label === value)?.value ?? value;
  return typing(attributes.get("type") ?? "text", value);
}

function shownText(element: HtmlElement): string {
  return textIn(element).replace(/\s+/g, " ").trim();
}
