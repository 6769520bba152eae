/** A length of time. Minutes are written in the largest unit that fits: `2 days`, `24 hours`, `90 minutes`. */
export type Duration = { readonly minutes: number } | { readonly seconds: number };

/** What a sentence's placeholder can hold. Numbers, dates and durations are formatted for the language. */
export type MessageValue = string | number | Date | Duration | Message;

/** Values for the placeholders of a sentence, by name. */
export type MessageParams = Readonly<Record<string, MessageValue>>;

/** A sentence for users, in a form that can still be translated. */
export interface Message {
  /** Its key in the catalogue, or another name of the rule that was broken; `null` if only the sentence is known. */
  readonly rule: string | null;
  /** The values in the sentence, by name: `{ max: 255 }`. */
  readonly params: MessageParams;
  /** The sentence in English, or in the only language that it exists in. */
  readonly message: string;
}
