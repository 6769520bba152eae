export {
  Catalogue,
  type LanguageFile,
  type MessageKey,
  type Messages,
  type Translate,
} from "./catalogue.ts";
export { canonicalLanguage, negotiateLanguage, textDirection } from "./languages.ts";
export {
  ENGLISH,
  inEnglish,
  type MessageMaker,
  messagesOf,
  type Sentence,
  type Sentences,
  translated,
} from "./sentence.ts";
