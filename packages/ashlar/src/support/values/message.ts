/** A length of time. It is shown in the largest unit that fits: `2 days`, `24 hours`, `90 minutes`. */
export type Duration = { readonly minutes: number } | { readonly seconds: number };

/**
 * An amount of data. It is shown in the largest unit that fits: `500 bytes`, `1.5 kB`, `32 MB`. A kB has 1024 bytes.
 */
export type DataSize = { readonly bytes: number };

/**
 * The value of a sentence's placeholder. Numbers, dates, durations and sizes are formatted for the language; `null` and
 * invalid dates are blank.
 */
export type MessageValue = string | number | bigint | boolean | null | Date | Duration | DataSize | Message;

/** A sentence for users that can still be translated. `t.message()` creates it, and `t()` translates it. */
export interface Message {
  /**
   * The key of the sentence, such as `auth.email.taken`, or another stable name of the broken rule, such as a
   * validator's `too_small`; `null` if the message is plain text.
   */
  readonly rule: string | null;
  /** The values in the sentence, or the rule's parameters, by name: `{ max: 255 }`. */
  readonly params: Readonly<Record<string, MessageValue>>;
  /** The sentence in English, or in the only language that it is available in. */
  readonly message: string;
}

/** Values for the placeholders of a sentence, by name. */
export type MessageParams = Message["params"];

/** Reports whether a value is a message, and not an object from a column that happens to have the same member. */
export function isMessage(value: unknown): value is Message {
  if (typeof value !== "object" || value === null) return false;
  const { rule, params, message } = value as Partial<Message>;
  const isNamed = rule === null || typeof rule === "string";
  return isNamed && typeof message === "string" && typeof params === "object" && params !== null;
}
