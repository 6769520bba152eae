import { isPlainObject, nearest } from "../../support/index.ts";
import { type Assertion, failure, listed, shown } from "../failure.ts";
import { chosenOptions, type FormControl, type HtmlForm } from "./html-forms.ts";

/** A field's input: text, whether a checkbox is checked, files, or a list of these for fields that accept several. */
export type FieldValue = string | number | boolean | Blob | null | undefined | readonly (string | number | Blob)[];

/** The inputs for a form's fields, by their names in the HTML: `email`, `tags[]`. */
export type FieldValues = Readonly<Record<string, FieldValue>>;

/** A form field as it is sent. */
export type FormEntry = readonly [name: string, value: string | Blob];

/** The fields that a browser sends when a form is submitted. */
export interface FormSubmission {
  readonly method: "GET" | "POST";
  /** The form's action; empty for the page itself. */
  readonly action: string;
  readonly entries: readonly FormEntry[];
  readonly isMultipart: boolean;
}

/**
 * Fills in a form and submits it with its first button, or with the button that the values name, like a browser: hidden
 * fields are included, disabled ones are not, and only options offered by the page can be chosen. Browser validation
 * (`required`, `pattern`) is skipped, so that tests can check how the application responds.
 *
 * @throws `AssertionError` if the values do not fit the form
 */
export function submissionOf(form: HtmlForm, values: FieldValues, caller: Assertion): FormSubmission {
  const filling = new Filling(form, values, caller);
  const { button, entries } = filling;
  const attribute = (name: string): string => button?.attributes.get(`form${name}`) ?? form.attributes.get(name) ?? "";
  const method = attribute("method").toUpperCase();
  if (method === "DIALOG") throw failure(`${form} closes a dialog and sends nothing.`, caller);
  return {
    method: method === "POST" ? "POST" : "GET",
    action: attribute("action").trim(),
    entries,
    isMultipart: attribute("enctype").toLowerCase() === "multipart/form-data",
  };
}

class Filling {
  readonly button: FormControl | null;
  readonly entries: readonly FormEntry[];
  readonly #form: HtmlForm;
  readonly #caller: Assertion;

  constructor(form: HtmlForm, values: FieldValues, caller: Assertion) {
    this.#form = form;
    this.#caller = caller;
    const given = Object.entries(values).filter(([, value]) => value !== undefined);
    const filled = new Map<FormControl, FormEntry[]>();
    let button: FormControl | null = null;
    for (const [name, value] of given) {
      const controls = this.#fillable(name);
      if (controls[0]!.kind === "submit") button = this.#chosenButton(name, controls, value);
      else for (const [control, entries] of this.#fill(name, controls, value)) filled.set(control, entries);
    }
    this.button = button ?? form.controls.find(({ kind, isDisabled }) => kind === "submit" && !isDisabled) ?? null;
    this.entries = form.controls.flatMap((control) => {
      if (control.name === "" || control.isDisabled) return [];
      if (control.kind === "submit") return control === this.button ? [entry(control.name, control.value)] : [];
      return filled.get(control) ?? asItStands(control);
    });
  }

  /** The controls with a name that a visitor can fill in, or else the hidden ones. */
  #fillable(name: string): readonly FormControl[] {
    const named = this.#form.controls.filter((control) => control.name === name);
    if (named.length === 0) {
      const near = nearest(name, this.#form.fields);
      const hint = near.length > 0 ? `Did you mean ${listed(near)}?` : `Its fields are ${listed(this.#form.fields)}.`;
      throw this.#failure(`has no field "${name}". ${hint}`);
    }
    const enabled = named.filter(({ isDisabled }) => !isDisabled);
    if (enabled.length === 0) throw this.#failure(`has the field "${name}", which is disabled.`);
    const visible = enabled.filter(({ kind }) => kind !== "hidden");
    return visible.length === 0 ? enabled : visible;
  }

  #fill(name: string, controls: readonly FormControl[], value: FieldValue): [FormControl, FormEntry[]][] {
    switch (controls[0]!.kind) {
      case "checkbox":
      case "radio":
        return this.#fillToggles(name, controls, value);
      case "select":
        return this.#fillSelects(name, controls, value);
      case "file":
        return this.#fillFiles(name, controls, value);
      default:
        return this.#fillTexts(name, controls, value);
    }
  }

  #fillToggles(name: string, toggles: readonly FormControl[], value: FieldValue): [FormControl, FormEntry[]][] {
    const offered = toggles.map((toggle) => toggle.value);
    const wanted = value === true && toggles.length === 1 ? offered : textsOf(value);
    this.#checkOffered(name, value === true && toggles.length > 1 ? [value] : wanted, offered);
    if (toggles[0]!.kind === "radio") this.#checkSingle(name, wanted);
    return toggles.map((toggle) => [toggle, wanted.includes(toggle.value) ? [entry(name, toggle.value)] : []]);
  }

  #fillSelects(name: string, selects: readonly FormControl[], value: FieldValue): [FormControl, FormEntry[]][] {
    const wanted = textsOf(value);
    const filled = selects.map((select): [FormControl, FormEntry[]] => {
      const chosen = select.options.filter((option) => !option.isDisabled && wanted.includes(option.value));
      if (!select.isMultiple) this.#checkSingle(name, chosen);
      return [select, chosen.map((option) => entry(name, option.value))];
    });
    const offered = selects.flatMap(({ options }) => options.filter(({ isDisabled }) => !isDisabled));
    const isSwitch = typeof value === "boolean";
    this.#checkOffered(
      name,
      isSwitch ? [value] : wanted,
      offered.map((option) => option.value),
    );
    return filled;
  }

  #fillFiles(name: string, inputs: readonly FormControl[], value: FieldValue): [FormControl, FormEntry[]][] {
    const files = value === null ? [] : Array.isArray(value) ? value : [value];
    const [input] = inputs;
    if (!files.every((file) => file instanceof Blob) || (files.length > 1 && !input!.isMultiple)) {
      throw this.#failure(
        `takes ${input!.isMultiple ? "files" : "one file"} in the field "${name}": a File or a Blob.`,
      );
    }
    return files.length === 0 ? [] : [[input!, files.map((file): FormEntry => [name, file])]];
  }

  #fillTexts(name: string, inputs: readonly FormControl[], value: FieldValue): [FormControl, FormEntry[]][] {
    const isText = Array.isArray(value) ? !value.some((one) => one instanceof Blob) : !isSwitchOrFile(value);
    if (!isText) throw this.#failure(`takes text in the field "${name}", not ${shown(value)}.`);
    if (!Array.isArray(value)) return inputs.map((input) => [input, [entry(name, String(value ?? ""))]]);
    if (value.length > inputs.length) {
      throw this.#failure(`has ${inputs.length} fields "${name}" for ${value.length} values.`);
    }
    return value.map((one, index) => [inputs[index]!, [entry(name, String(one))]]);
  }

  #checkOffered(name: string, wanted: readonly unknown[], offered: readonly string[]): void {
    const refused = wanted.find((value) => !offered.includes(value as string));
    if (refused === undefined) return;
    throw this.#failure(`does not offer ${shown(refused)} in the field "${name}", but ${listed(offered)}.`);
  }

  #checkSingle(name: string, chosen: readonly unknown[]): void {
    if (chosen.length > 1) throw this.#failure(`takes one choice in the field "${name}", not ${chosen.length}.`);
  }

  #chosenButton(name: string, buttons: readonly FormControl[], value: FieldValue): FormControl {
    const chosen = buttons.filter((button) => value === true || button.value === String(value));
    if (chosen.length === 1) return chosen[0]!;
    throw this.#failure(`has these buttons "${name}": ${listed(buttons.map((button) => button.value))}.`);
  }

  #failure(problem: string): Error {
    return failure(`${this.#form} ${problem}`, this.#caller);
  }
}

/** Returns the options that a value selects; none for `null` and `false`. */
function textsOf(value: FieldValue): string[] {
  if (value === null || value === undefined || typeof value === "boolean") return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

function isSwitchOrFile(value: FieldValue): boolean {
  return typeof value === "boolean" || value instanceof Blob;
}

/** Returns the value that an untouched control sends. */
function asItStands(control: FormControl): FormEntry[] {
  const { kind, name, value, isChecked } = control;
  if (kind === "checkbox" || kind === "radio") return isChecked ? [entry(name, value)] : [];
  if (kind === "select") return chosenOptions(control).map((option) => entry(name, option.value));
  // If no file is chosen, an empty one without a name is sent (HTML §4.10.22.4).
  if (kind === "file") return [[name, new File([], "")]];
  return [entry(name, value)];
}

/** Line breaks are sent as CRLF (HTML §4.10.22.4). */
function entry(name: string, value: string): FormEntry {
  return [name, value.replace(/\r\n?|\n/g, "\r\n")];
}

/**
 * The data of a form: text, numbers, booleans, dates, files, and lists and objects of these (`{ tags: ["a"] }` is
 * `tags[0]=a`), or a `FormData`. `undefined` is omitted, `null` is sent as empty text.
 */
export type FormFields = URLSearchParams | FormData | object;

/** Returns the body of a form: multipart if it contains a file. */
export function formBody(data: FormFields): URLSearchParams | FormData {
  if (data instanceof URLSearchParams || data instanceof FormData) return data;
  const entries = [...entriesOf(data)];
  return entriesBody(
    entries,
    entries.some(([, value]) => typeof value !== "string"),
  );
}

/** Returns the body of a form with these fields. Without multipart, only a file's name is sent. */
export function entriesBody(entries: readonly FormEntry[], isMultipart: boolean): URLSearchParams | FormData {
  if (!isMultipart) return new URLSearchParams(entries.map(([name, value]) => [name, textOf(value)]));
  const form = new FormData();
  for (const [name, value] of entries) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value);
  }
  return form;
}

function textOf(value: string | Blob): string {
  if (typeof value === "string") return value;
  return value instanceof File ? value.name : "blob";
}

function* entriesOf(data: object): Generator<FormEntry> {
  for (const [name, value] of Object.entries(data)) yield* entriesUnder(name, value);
}

function* entriesUnder(name: string, value: unknown): Generator<FormEntry> {
  if (value === undefined) return;
  if (Array.isArray(value) || isPlainObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* entriesUnder(`${name}[${key}]`, member);
  } else if (value instanceof Blob) {
    yield [name, value];
  } else {
    yield [name, value === null ? "" : value instanceof Date ? value.toISOString() : String(value)];
  }
}
