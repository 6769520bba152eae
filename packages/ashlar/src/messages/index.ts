export { canonicalLanguage } from "./canonical-language.ts";
export {
  Catalogue,
  type LanguageFile,
  type MessageKey,
  type Messages,
  type Translate,
} from "./catalogue.ts";
export { ENGLISH, inEnglish, type MessageMaker, messagesOf, translated } from "./message.ts";
export { negotiateLanguage } from "./negotiate-language.ts";
export type { Sentence, Sentences } from "./sentence.ts";
export { textDirection } from "./text-direction.ts";
