/** Markup that may stand in a page as it is. */
export class Html {
  readonly #text: string;

  /** @param text markup, in which nothing is escaped any more */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What may stand in a template: text is escaped, markup is not, a list is joined. */
export type HtmlValue = string | number | Html | readonly Html[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Makes markup of a template literal, in which whatever is no markup itself is escaped. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markup)));
}

/** A text as it stands, with the addresses of sites in it as links. */
export function linked(text: string): Html[] {
  return text.split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)])/).map((part, index) => {
    return index % 2 === 0 ? html`${part}` : html`<a href="${part}">${part}</a>`;
  });
}

function markup(value: HtmlValue): string {
  if (value instanceof Html) return value.toString();
  if (typeof value === "object") return value.join("");
  return String(value).replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}
