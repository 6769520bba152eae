import { translated } from "../../messages/index.ts";
import {
  asMessage,
  type Dictionary,
  dictionary,
  type FieldErrors,
  type FieldSentences,
  isMessage,
  isPlainObject,
  isPrototypeName,
  type Message,
  type MessageParams,
  type MessageValue,
} from "../../support/index.ts";

/**
 * A message as stored in a session, which is only text if it has no rule. A date in its parameters becomes `{ date }`,
 * because JSON has no dates.
 */
type StoredMessage = string | { readonly rule: string; readonly params: Dictionary; readonly message: string };

/**
 * Returns errors by field, in the form in which sessions store them. They aren't translated, because the page that
 * shows them may be in a different language than the request that caused them.
 */
export function toStoredErrors(errors: FieldSentences): Dictionary {
  const stored: Record<string, StoredMessage[]> = {};
  for (const [field, list] of Object.entries(errors)) {
    if (!isPrototypeName(field)) stored[field] = list.map(toStored);
  }
  return stored;
}

function toStored(said: string | Message): StoredMessage {
  // Anything else is refused by the session.
  if (typeof said !== "object") return said;
  const { rule, params, message } = said;
  return rule === null ? message : { rule, params: mapped(params, toStoredValue), message };
}

function toStoredValue(value: MessageValue): unknown {
  // An invalid date has no text, and leaves a gap in a sentence.
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : { date: value.toISOString() };
  if (typeof value === "bigint") return String(value);
  return isMessage(value) ? toStored(value) : value;
}

/**
 * Reads what {@link toStoredErrors} returned.
 *
 * @param t translates a message into the language of the page
 */
export function readStoredErrors(stored: unknown, t: (message: Message) => string): FieldErrors {
  const errors: FieldErrors = dictionary<Message[]>();
  for (const [field, list] of Object.entries(stored as Readonly<Record<string, readonly StoredMessage[]>>)) {
    errors[field] = list.map((one) => translated(fromStored(one), t));
  }
  return errors;
}

/** Calls a function when a message's text is read. Counting messages, or checking their rules, doesn't count. */
export function noteReading(errors: FieldErrors, onRead: () => void): void {
  for (const one of Object.values(errors).flat()) {
    const { message } = one;
    const get = (): string => {
      onRead();
      return message;
    };
    Object.defineProperty(one, "message", { get, enumerable: true });
  }
}

function fromStored(stored: StoredMessage): Message {
  if (typeof stored === "string") return asMessage(stored);
  return { ...stored, params: mapped(stored.params, fromStoredValue) as MessageParams };
}

function fromStoredValue(value: unknown): unknown {
  if (!isPlainObject(value)) return value;
  if (typeof value.date === "string") return new Date(value.date);
  return "rule" in value ? fromStored(value as unknown as StoredMessage) : value;
}

function mapped<T>(values: Readonly<Record<string, T>>, make: (value: T) => unknown): Dictionary {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value)]));
}
