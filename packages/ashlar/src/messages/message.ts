import { isMessage, type Message, type MessageParams, type MessageValue } from "../support/index.ts";
import type { ParamNames, Sentences } from "./sentence.ts";
import { Wording } from "./wording.ts";

/** The values that a sentence needs: none, or an object with all of them. */
export type ParamsOf<S> = [ParamNames<S>] extends [never]
  ? []
  : [params: Readonly<Record<ParamNames<S>, MessageValue>>];

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

/** Creates a message from one of the sentences `S`, by its key. */
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
