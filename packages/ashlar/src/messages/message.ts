import type { Message, MessageParams, MessageValue } from "../support/index.ts";
import type { ParamNames, Sentences } from "./sentence.ts";
import { Wording } from "./wording.ts";

/** The values that a sentence needs: none, or an object with all of them. */
export type ParamsOf<S> = [ParamNames<S>] extends [never]
  ? []
  : [params: Readonly<Record<ParamNames<S>, MessageValue>>];

/** The language that the framework's own sentences are written in. */
export const ENGLISH = "en";

const english = new Wording(ENGLISH);

/** The English of a message. */
export const inEnglish = ({ message }: Message): string => message;

/** Makes a message of one of the sentences `S`, by its key. */
export type MessageMaker<S> = <K extends keyof S & string>(key: K, ...params: ParamsOf<S[K]>) => Message;

/** Makes messages of the sentences of one feature, for errors that are put into the visitor's language when they are told. */
export function messagesOf<S extends Sentences>(sentences: S): MessageMaker<S> {
  return (key, ...[params = {}]: [params?: MessageParams]) => {
    return Object.freeze({ rule: key, params, message: english.say(sentences[key]!, params, inEnglish) });
  };
}
