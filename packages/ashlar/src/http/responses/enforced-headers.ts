import { type CheckedHeaders, isVaried } from "../headers/header-fields.ts";

/** Headers that override everything else in a response, and the request header that they depend on. */
export class EnforcedHeaders {
  readonly #headers: CheckedHeaders;
  readonly #varyBy: string;

  /** @param varyBy a header's name, for `Vary` (RFC 9110 §12.5.5) */
  constructor(headers: CheckedHeaders, varyBy: string) {
    this.#headers = headers;
    this.#varyBy = varyBy;
  }

  /** Sets the headers, replacing a response's own. */
  setIn(headers: Headers): void {
    for (const [name, values] of this.#headers.entries) headers.set(name, values.join(", "));
    if (!isVaried(headers.get("vary") ?? "", this.#varyBy)) headers.append("vary", this.#varyBy);
  }

  /** Returns a response's headers, with these replacing any of the same name. */
  over(pairs: readonly [string, string][]): [string, string][] {
    const own = this.#headers.entries;
    const kept = pairs.filter(([name]) => !own.some(([other]) => other === name));
    for (const [name, values] of own) kept.push([name, values.join(", ")]);
    const isNamed = kept.some(([name, value]) => name === "vary" && isVaried(value, this.#varyBy));
    return isNamed ? kept : [...kept, ["vary", this.#varyBy]];
  }
}
