export {
  Catalogue,
  type LanguageFile,
  type MessageKey,
  type Messages,
  type Translate,
  type Translations,
} from "./catalogue.ts";
export { canonicalLanguage, languageOfClient, textDirection } from "./languages.ts";
export {
  ENGLISH,
  inEnglish,
  type MessageMaker,
  messagesOf,
  type Sentence,
  type Sentences,
  translated,
} from "./sentence.ts";
