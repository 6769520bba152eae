import { escapeHtml } from "../../support/index.ts";

/** Markup that is safe to insert into a page. */
export class Html {
  readonly #text: string;

  /** @param text markup, which is not escaped any further */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A value in a template: text is escaped, markup is not, a list is joined. */
export type HtmlValue = string | number | Html | readonly Html[];

/** Builds markup from a template literal; values that aren't markup are escaped. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markup)));
}

/** A text whose web addresses are links. */
export function linked(text: string): Html[] {
  return text.split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)])/).map((part, index) => {
    return index % 2 === 0 ? html`${part}` : html`<a href="${part}">${part}</a>`;
  });
}

function markup(value: HtmlValue): string {
  if (value instanceof Html) return value.toString();
  if (typeof value === "object") return value.join("");
  return escapeHtml(String(value));
}
