import { type HtmlToken, tokensOf } from "./html-tokens.ts";

/** One choice of a `<select>`. */
export interface FormOption {
  readonly value: string;
  readonly label: string;
  readonly isSelected: boolean;
  readonly isDisabled: boolean;
}

/** How a control is filled in. */
export type ControlKind = "text" | "hidden" | "checkbox" | "radio" | "select" | "file" | "submit";

/** A control of a form, as its page has it. */
export interface FormControl {
  readonly kind: ControlKind;
  readonly name: string;
  readonly value: string;
  /** Whether a checkbox or radio button is on. */
  readonly isChecked: boolean;
  readonly isDisabled: boolean;
  /** Whether several options or files can be chosen. */
  readonly isMultiple: boolean;
  /** The choices of a `<select>`. */
  readonly options: readonly FormOption[];
  readonly attributes: ReadonlyMap<string, string>;
}

/** A form of a page, with the controls that belong to it, wherever they stand. */
export class HtmlForm {
  readonly attributes: ReadonlyMap<string, string>;
  readonly controls: readonly FormControl[];

  constructor(attributes: ReadonlyMap<string, string>, controls: readonly FormControl[]) {
    this.attributes = attributes;
    this.controls = controls;
  }

  /** The names of the fields, each once, in the order of the page. */
  get fields(): readonly string[] {
    return [...new Set(this.controls.map(({ name }) => name))].filter((name) => name !== "");
  }

  /**
   * What a field holds as the page has it; `null` where there is no such field, or nothing in it is chosen.
   *
   * @param name the field's name, as in the HTML: `email`, `tags[]`
   */
  value(name: string): string | null {
    for (const control of this.controls) {
      const value = control.name === name ? controlValue(control) : null;
      if (value !== null) return value;
    }
    return null;
  }

  /** What a message calls the form. */
  toString(): string {
    const shown = ["id", "class", "method", "action"].flatMap((name) => {
      const value = this.attributes.get(name);
      return value === undefined ? [] : [` ${name}="${value}"`];
    });
    return `<form${shown.join("")}>`;
  }
}

function controlValue(control: FormControl): string | null {
  if (control.kind === "select") return chosenOptions(control)[0]?.value ?? null;
  if (control.kind === "checkbox" || control.kind === "radio") return control.isChecked ? control.value : null;
  return control.kind === "submit" || control.kind === "file" ? null : control.value;
}

/** The options of a `<select>` that are chosen: of one that shows a single choice, the first where none is marked. */
export function chosenOptions({ options, isMultiple }: FormControl): readonly FormOption[] {
  const selected = options.filter((option) => option.isSelected && !option.isDisabled);
  if (isMultiple) return selected;
  const chosen = selected.at(-1) ?? options.find((option) => !option.isDisabled);
  return chosen === undefined ? [] : [chosen];
}

interface OpenForm {
  readonly attributes: ReadonlyMap<string, string>;
  readonly controls: FormControl[];
}

type OpenTag = Extract<HtmlToken, { readonly kind: "open" }>;

const INPUT_KINDS: Readonly<Record<string, ControlKind | null>> = {
  hidden: "hidden",
  checkbox: "checkbox",
  radio: "radio",
  file: "file",
  submit: "submit",
  image: "submit",
  button: null,
  reset: null,
};

/** The forms of a page, in its order. */
export function formsOf(html: string): readonly HtmlForm[] {
  const reader = new FormReader();
  for (const token of tokensOf(html)) reader.read(token);
  return reader.finish();
}

class FormReader {
  readonly #forms: OpenForm[] = [];
  /** Controls that name their form by its id, which may come later. */
  readonly #remote: { readonly form: string; readonly control: FormControl }[] = [];
  /** Whether each `<fieldset>` that is open is disabled. */
  readonly #fieldsets: boolean[] = [];
  #form: OpenForm | null = null;
  #templates = 0;
  #textarea: { readonly tag: OpenTag; text: string } | null = null;
  #select: { readonly tag: OpenTag; readonly options: FormOption[] } | null = null;
  #option: { readonly tag: OpenTag; text: string } | null = null;
  #isGroupDisabled = false;

  read(token: HtmlToken): void {
    if (token.kind !== "text" && token.name === "template") {
      this.#templates = Math.max(0, this.#templates + (token.kind === "open" ? 1 : -1));
    }
    // What stands in a template is no part of the page.
    if (this.#templates > 0) return;
    if (token.kind === "open") this.#open(token);
    else if (token.kind === "close") this.#close(token.name);
    else if (this.#textarea !== null) this.#textarea.text += token.text;
    else if (this.#option !== null) this.#option.text += token.text;
  }

  finish(): readonly HtmlForm[] {
    this.#endSelect();
    for (const { form: id, control } of this.#remote) {
      this.#forms.find(({ attributes }) => attributes.get("id") === id)?.controls.push(control);
    }
    return this.#forms.map(({ attributes, controls }) => new HtmlForm(attributes, controls));
  }

  #open(tag: OpenTag): void {
    switch (tag.name) {
      case "form":
        // A form in a form is none.
        if (this.#form !== null) return;
        this.#form = { attributes: tag.attributes, controls: [] };
        this.#forms.push(this.#form);
        return;
      case "fieldset":
        this.#fieldsets.push(tag.attributes.has("disabled"));
        return;
      case "input":
        this.#input(tag);
        return;
      case "button":
        if ((tag.attributes.get("type") ?? "submit").toLowerCase() === "submit") this.#add(tag, "submit");
        return;
      case "textarea":
        this.#textarea = { tag, text: "" };
        return;
      case "select":
        this.#endSelect();
        this.#select = { tag, options: [] };
        return;
      case "optgroup":
        this.#endOption();
        this.#isGroupDisabled = tag.attributes.has("disabled");
        return;
      case "option":
        this.#endOption();
        if (this.#select !== null) this.#option = { tag, text: "" };
    }
  }

  #close(name: string): void {
    if (name === "form") this.#form = null;
    else if (name === "fieldset") this.#fieldsets.pop();
    else if (name === "textarea") this.#endTextarea();
    else if (name === "select") this.#endSelect();
    else if (name === "option") this.#endOption();
    else if (name === "optgroup") {
      this.#endOption();
      this.#isGroupDisabled = false;
    }
  }

  #input(tag: OpenTag): void {
    const type = (tag.attributes.get("type") ?? "text").toLowerCase();
    const kind = Object.hasOwn(INPUT_KINDS, type) ? INPUT_KINDS[type]! : "text";
    if (kind !== null) this.#add(tag, kind);
  }

  #endTextarea(): void {
    if (this.#textarea === null) return;
    const { tag, text } = this.#textarea;
    this.#textarea = null;
    // One line break right after the tag is for the author's eyes.
    this.#add(tag, "text", { value: text.replace(/^\r?\n/, "") });
  }

  #endSelect(): void {
    if (this.#select === null) return;
    this.#endOption();
    const { tag, options } = this.#select;
    this.#select = null;
    this.#isGroupDisabled = false;
    this.#add(tag, "select", { options });
  }

  #endOption(): void {
    if (this.#option === null) return;
    const { tag, text } = this.#option;
    this.#option = null;
    const label = text.replace(/\s+/g, " ").trim();
    this.#select?.options.push({
      label,
      value: tag.attributes.get("value") ?? label,
      isSelected: tag.attributes.has("selected"),
      isDisabled: this.#isGroupDisabled || tag.attributes.has("disabled"),
    });
  }

  #add(tag: OpenTag, kind: ControlKind, rest: Partial<FormControl> = {}): void {
    const { attributes } = tag;
    const isToggle = kind === "checkbox" || kind === "radio";
    const control: FormControl = {
      kind,
      name: attributes.get("name") ?? "",
      value: attributes.get("value") ?? (isToggle ? "on" : ""),
      isChecked: attributes.has("checked"),
      isDisabled: attributes.has("disabled") || this.#fieldsets.includes(true),
      isMultiple: attributes.has("multiple"),
      options: [],
      attributes,
      ...rest,
    };
    const remote = attributes.get("form");
    if (remote !== undefined) this.#remote.push({ form: remote, control });
    else this.#form?.controls.push(control);
  }
}
