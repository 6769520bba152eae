import type { Duration, Message, MessageParams, MessageValue } from "../support/index.ts";
import { fill, type Sentence } from "./sentence.ts";

/** Minutes in an hour and in a day. */
const HOUR = 60;
const DAY = 24 * HOUR;

/**
 * Formats sentences, numbers, dates and durations in one language. The formatters are created when they are first
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

  #value(value: MessageValue, nested: (message: Message) => string): string {
    if (typeof value === "string") return value;
    if (typeof value === "number") return this.#number(value);
    if (value instanceof Date) return this.#date(value);
    return "rule" in value ? nested(value) : this.#duration(value);
  }

  #form(count: MessageValue | undefined): Intl.LDMLPluralRule {
    this.#plurals ??= new Intl.PluralRules(this.#language);
    return this.#plurals.select(Number(count));
  }

  #number(value: number): string {
    this.#numbers ??= new Intl.NumberFormat(this.#language);
    return this.#numbers.format(value);
  }

  /** The reader's time zone is not known. */
  #date(value: Date): string {
    this.#dates ??= new Intl.DateTimeFormat(this.#language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
    return `${this.#dates.format(value)} UTC`;
  }

  #duration(value: Duration): string {
    const [number, unit] = "minutes" in value ? inLargestUnit(value.minutes) : ([value.seconds, "second"] as const);
    return new Intl.NumberFormat(this.#language, { style: "unit", unit, unitDisplay: "long" }).format(number);
  }
}

/**
 * A day is 24 hours, which is how long a link that was just mailed is valid; from two days on, they are called days.
 */
function inLargestUnit(minutes: number): [number, "day" | "hour" | "minute"] {
  if (minutes > DAY && minutes % DAY === 0) return [minutes / DAY, "day"];
  return minutes >= HOUR && minutes % HOUR === 0 ? [minutes / HOUR, "hour"] : [minutes, "minute"];
}
