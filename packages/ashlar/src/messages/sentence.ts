/**
 * A sentence with placeholders, `Use at most {max} characters.`, or its plural forms, selected by the parameter `count`
 * and the language's rules (CLDR): `{ one: "{count} file", other: "{count} files" }`.
 */
export type Sentence = string | PluralForms;

/** The plural forms of a sentence. Forms that a language does not have are left out. */
export type PluralForms = { readonly [Form in Intl.LDMLPluralRule]?: string } & { readonly other: string };

/** Sentences by key. */
export type Sentences = Readonly<Record<string, Sentence>>;

/** The names of the placeholders in a text. */
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The names of the parameters that a sentence takes. */
export type ParamNames<S> = S extends string
  ? NamesIn<S>
  : S extends { readonly other: infer Other }
    ? NamesIn<Other> | "count"
    : never;

const PLACEHOLDER = /\{(\w+)\}/g;

/** Replaces the placeholders in a text. */
export function fill(text: string, valueFor: (name: string) => string): string {
  return text.replaceAll(PLACEHOLDER, (_, name: string) => valueFor(name));
}

/** The names of the parameters that a sentence may use. */
export function paramNames(sentence: Sentence): ReadonlySet<string> {
  const texts = typeof sentence === "string" ? [sentence] : Object.values(sentence);
  const names = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!));
  return new Set(typeof sentence === "string" ? names : [...names, "count"]);
}

/** Reports whether a value from an application is a sentence. */
export function isSentence(value: unknown): value is Sentence {
  if (typeof value === "string") return true;
  return hasPluralForms(value) && "other" in value;
}

/** Reports whether a value from an application would be a sentence if it had the plural form that all languages need. */
export function isWithoutOther(value: unknown): boolean {
  return hasPluralForms(value) && !("other" in value);
}

function hasPluralForms(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([form, text]) => FORMS.has(form) && typeof text === "string");
}

const FORMS: ReadonlySet<string> = new Set<Intl.LDMLPluralRule>(["zero", "one", "two", "few", "many", "other"]);
