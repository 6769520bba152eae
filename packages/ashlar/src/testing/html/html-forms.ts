import {
  ancestorsOf,
  attributesOf,
  collapsed,
  elementsOf,
  type HtmlDocument,
  type HtmlElement,
  parseHtml,
  textIn,
} from "./html-document.ts";

/** One option of a `<select>`. */
export interface FormOption {
  readonly value: string;
  readonly label: string;
  readonly isSelected: boolean;
  readonly isDisabled: boolean;
}

/** How a control is filled in. */
export type ControlKind = "text" | "hidden" | "checkbox" | "radio" | "select" | "file" | "submit";

/** A control of a form, as in the page. */
export interface FormControl {
  readonly kind: ControlKind;
  readonly name: string;
  readonly value: string;
  /** Whether a checkbox or radio button is checked. */
  readonly isChecked: boolean;
  readonly isDisabled: boolean;
  /** Whether several options or files can be chosen. */
  readonly isMultiple: boolean;
  /** The options of a `<select>`. */
  readonly options: readonly FormOption[];
  readonly attributes: ReadonlyMap<string, string>;
}

/** A form of a page, with the controls that belong to it, wherever they are. */
export class HtmlForm {
  readonly attributes: ReadonlyMap<string, string>;
  readonly controls: readonly FormControl[];

  constructor(attributes: ReadonlyMap<string, string>, controls: readonly FormControl[]) {
    this.attributes = attributes;
    this.controls = controls;
  }

  /** The fields' names without duplicates, in page order. */
  get fields(): readonly string[] {
    return [...new Set(this.controls.map(({ name }) => name))].filter((name) => name !== "");
  }

  /**
   * Returns a field's initial value; `null` if the field does not exist, or nothing in it is chosen.
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

  /** The form's name in messages. */
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

/** The chosen options of a `<select>`. If it shows a single choice and none is marked, it is the first one. */
export function chosenOptions({ options, isMultiple }: FormControl): readonly FormOption[] {
  const selected = options.filter((option) => option.isSelected && !option.isDisabled);
  if (isMultiple) return selected;
  const chosen = selected.at(-1) ?? options.find((option) => !option.isDisabled);
  return chosen === undefined ? [] : [chosen];
}

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

/** Returns the forms of a page, in order. */
export function formsOf(html: string): readonly HtmlForm[] {
  const page = parseHtml(html);
  const elements = [...elementsOf(page.root)];
  const controls = new Map<HtmlElement, FormControl[]>();
  for (const element of elements) if (element.tagName === "form") controls.set(element, []);
  for (const element of elements) {
    const control = controlOf(element);
    const form = control === null ? null : ownerOf(element, page, controls.keys());
    if (control !== null && form !== null) controls.get(form)?.push(control);
  }
  return [...controls].map(([form, own]) => new HtmlForm(attributesOf(form), own));
}

/**
 * Returns the form that a control belongs to: the form that it names, or else the form that is open at its position.
 */
function ownerOf(element: HtmlElement, page: HtmlDocument, forms: Iterable<HtmlElement>): HtmlElement | null {
  const id = attributesOf(element).get("form");
  if (id === undefined) return page.openForms.get(element) ?? null;
  return [...forms].find((form) => attributesOf(form).get("id") === id) ?? null;
}

function controlOf(element: HtmlElement): FormControl | null {
  switch (element.tagName) {
    case "input":
      return inputOf(element);
    case "button":
      return (attributesOf(element).get("type") ?? "submit").toLowerCase() === "submit"
        ? made(element, "submit")
        : null;
    case "textarea":
      return made(element, "text", { value: textIn(element) });
    case "select":
      return made(element, "select", { options: optionsOf(element) });
    default:
      return null;
  }
}

function inputOf(element: HtmlElement): FormControl | null {
  const type = (attributesOf(element).get("type") ?? "text").toLowerCase();
  const kind = Object.hasOwn(INPUT_KINDS, type) ? INPUT_KINDS[type]! : "text";
  return kind === null ? null : made(element, kind);
}

function optionsOf(select: HtmlElement): readonly FormOption[] {
  return [...elementsOf(select)]
    .filter(({ tagName }) => tagName === "option")
    .map((option) => {
      const attributes = attributesOf(option);
      const label = collapsed(textIn(option));
      const groups = [...ancestorsOf(option)].filter(({ tagName }) => tagName === "optgroup");
      return {
        label,
        value: attributes.get("value") ?? label,
        isSelected: attributes.has("selected"),
        isDisabled: [option, ...groups].some((one) => attributesOf(one).has("disabled")),
      };
    });
}

function made(element: HtmlElement, kind: ControlKind, rest: Partial<FormControl> = {}): FormControl {
  const attributes = attributesOf(element);
  const isToggle = kind === "checkbox" || kind === "radio";
  return {
    kind,
    name: attributes.get("name") ?? "",
    value: attributes.get("value") ?? (isToggle ? "on" : ""),
    isChecked: attributes.has("checked"),
    isDisabled: attributes.has("disabled") || isInDisabledFieldset(element),
    isMultiple: attributes.has("multiple"),
    options: [],
    attributes,
    ...rest,
  };
}

/** A disabled `<fieldset>` doesn't disable the controls in its legend (HTML §4.10.18.5). */
function isInDisabledFieldset(element: HtmlElement): boolean {
  let child = element;
  for (const parent of ancestorsOf(element)) {
    if (parent.tagName === "fieldset" && attributesOf(parent).has("disabled")) {
      const legend = parent.childNodes.find((node) => node.nodeName === "legend");
      if (child !== legend) return true;
    }
    child = parent;
  }
  return false;
}
