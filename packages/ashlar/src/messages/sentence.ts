import {
  type DataSize,
  type Duration,
  isMessage,
  jsonOf,
  type Message,
  type MessageParams,
  type MessageValue,
  textOf,
} from "../support/index.ts";

/**
 * A sentence with placeholders, `Use at most {max} characters.`, or its plural forms, selected by the parameter `count`
 * and the language's rules (CLDR): `{ one: "{count} file", other: "{count} files" }`.
 */
export type Sentence = string | PluralForms;

/** The plural forms of a sentence. Forms that the language does not have are omitted. */
export type PluralForms = { readonly [Form in Intl.LDMLPluralRule]?: string } & { readonly other: string };

/** Sentences by key. */
export type Sentences = Readonly<Record<string, Sentence>>;

/** The names of the placeholders in a text. */
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The names of the parameters that a sentence takes. */
type ParamNames<S> = S extends string
  ? NamesIn<S>
  : S extends { readonly other: infer Other }
    ? NamesIn<Other> | "count"
    : never;

/** The values that a sentence needs: none, or an object with all of them. */
export type ParamsOf<S> = [ParamNames<S>] extends [never]
  ? []
  : [params: Readonly<Record<ParamNames<S>, MessageValue>>];

const PLACEHOLDER = /\{(\w+)\}/g;

/** Replaces the placeholders in a text. */
function fill(text: string, valueFor: (name: string) => string): string {
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

/** Reports whether a value from an application would be a sentence if the required plural form, `other`, were added. */
export function isWithoutOther(value: unknown): boolean {
  return hasPluralForms(value) && !("other" in value);
}

function hasPluralForms(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([form, text]) => FORMS.has(form) && typeof text === "string");
}

const FORMS: ReadonlySet<string> = new Set<Intl.LDMLPluralRule>(["zero", "one", "two", "few", "many", "other"]);

/** Units of size. Each is 1024 times the previous one. */
const SIZE_UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** The number of minutes in an hour and in a day. */
const HOUR = 60;
const DAY = 24 * HOUR;

/**
 * Formats sentences, numbers, dates, durations and sizes in one language. The formatters are created when they are first
 * needed.
 */
export class Wording {
  readonly #language: string;
  #plurals: Intl.PluralRules | null = null;
  #numbers: Intl.NumberFormat | null = null;
  #dates: Intl.DateTimeFormat | null = null;

  /** @param language its tag (BCP 47), such as `de` */
  constructor(language: string) {
    this.#language = language;
  }

  /**
   * A sentence with its values.
   *
   * @param nested returns the text of a value that is itself a message
   */
  say(sentence: Sentence, params: MessageParams, nested: (message: Message) => string): string {
    const text = typeof sentence === "string" ? sentence : (sentence[this.#form(params.count)] ?? sentence.other);
    return fill(text, (name) => {
      const value = params[name];
      return value === undefined ? `{${name}}` : this.#value(value, nested);
    });
  }

  /**
   * The text of a value. Values come from columns and inputs, so any value is converted, without throwing.
   */
  #value(value: unknown, nested: (message: Message) => string): string {
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "bigint") return this.#number(value);
    if (value === null) return "";
    if (typeof value !== "object") return textOf(value);
    if (value instanceof Date) return this.#date(value);
    if (isMessage(value)) return nested(value);
    if (isDuration(value)) return this.#duration(value);
    if (isDataSize(value)) return this.#size(value);
    return Object.prototype.toString.call(value) === "[object Object]" ? jsonOf(value) : textOf(value);
  }

  #form(count: unknown): Intl.LDMLPluralRule {
    this.#plurals ??= new Intl.PluralRules(this.#language);
    return this.#plurals.select(numberOf(count));
  }

  #number(value: number | bigint): string {
    this.#numbers ??= new Intl.NumberFormat(this.#language);
    return this.#numbers.format(value);
  }

  /** We don't know the reader's time zone. */
  #date(value: Date): string {
    if (Number.isNaN(value.getTime())) return "";
    this.#dates ??= new Intl.DateTimeFormat(this.#language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
    return `${this.#dates.format(value)} UTC`;
  }

  #duration(value: Duration): string {
    const [number, unit] = "minutes" in value ? inLargestUnit(value.minutes) : ([value.seconds, "second"] as const);
    return new Intl.NumberFormat(this.#language, { style: "unit", unit, unitDisplay: "long" }).format(number);
  }

  /** Rounded down, because it may be a limit. */
  #size({ bytes }: DataSize): string {
    let number = bytes;
    let unit = 0;
    while (number >= 1024 && unit < SIZE_UNITS.length - 1) {
      number /= 1024;
      unit++;
    }
    const format = { style: "unit", unit: SIZE_UNITS[unit]!, unitDisplay: unit === 0 ? "long" : "short" } as const;
    return new Intl.NumberFormat(this.#language, format).format(Math.floor(number * 10) / 10);
  }
}

/** The number that selects the plural form. For anything but a number, it is `NaN`, which selects `other`. */
function numberOf(value: unknown): number {
  return typeof value === "object" ? Number.NaN : Number(value);
}

/** Reports whether a value has only the member of a duration. An interval from a column has others. */
function isDuration(value: object): value is Duration {
  return isQuantity(value, "minutes") || isQuantity(value, "seconds");
}

function isDataSize(value: object): value is DataSize {
  return isQuantity(value, "bytes");
}

function isQuantity(value: object, unit: string): boolean {
  const [[name, number] = [], ...others] = Object.entries(value);
  return name === unit && Number.isFinite(number) && others.length === 0;
}

/**
 * A day is shown as 24 hours, for example in a mail as the lifetime of its link. Two days or more are shown in days.
 */
function inLargestUnit(minutes: number): [number, "day" | "hour" | "minute"] {
  if (minutes > DAY && minutes % DAY === 0) return [minutes / DAY, "day"];
  return minutes >= HOUR && minutes % HOUR === 0 ? [minutes / HOUR, "hour"] : [minutes, "minute"];
}

/** The language of the framework's own sentences. */
export const ENGLISH = "en";

const english = new Wording(ENGLISH);

/** A message's English text. */
export const inEnglish = ({ message }: Message): string => message;

/**
 * Returns a message in another language. The messages among its parameters are translated, too.
 *
 * @param t translates a message
 */
export function translated(message: Message, t: (message: Message) => string): Message {
  const params = Object.entries(message.params).map(([name, value]) => {
    return [name, isMessage(value) ? translated(value, t) : value];
  });
  return { rule: message.rule, params: Object.fromEntries(params), message: t(message) };
}

/** Creates a message from the sentence with this key, one of `S`. */
export type MessageMaker<S> = <K extends keyof S & string>(key: K, ...params: ParamsOf<S[K]>) => Message;

/**
 * Creates messages from the sentences of one feature, for errors that are translated into the visitor's language when
 * they are shown.
 */
export function messagesOf<S extends Sentences>(sentences: S): MessageMaker<S> {
  return (key, ...[params = {}]: [params?: MessageParams]) => {
    return Object.freeze({ rule: key, params, message: english.say(sentences[key]!, params, inEnglish) });
  };
}
