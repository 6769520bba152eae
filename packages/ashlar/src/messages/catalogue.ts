import {
  AshlarError,
  ConfigurationError,
  type Message,
  type MessageParams,
  nearest,
  suggestion,
} from "../support/index.ts";
import { languageOfClient, languageOfUser, type TextDirection, textDirection } from "./languages.ts";
import {
  ENGLISH,
  isSentence,
  isWithoutOther,
  type ParamsOf,
  paramNames,
  type Sentence,
  type Sentences,
  Wording,
} from "./sentence.ts";

/** The sentences of the framework's features, by key. An application augments {@link Messages} itself. */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because features augment it.
export interface FrameworkMessages {}

/**
 * The sentences that `t()` knows, by key, so that their parameters are checked. An application adds its own by declaration
 * merging:
 *
 * ```ts
 * declare module "ashlar" { interface Messages { "app.orders.count": { one: "{count} order"; other: "{count} orders" } } }
 * ```
 */
export interface Messages extends FrameworkMessages {}

/** The key of a sentence: one of {@link Messages}, or one of the application's that begins with `app.` */
export type MessageKey = (keyof Messages & string) | `app.${string}`;

/**
 * The values that the sentence with a key needs. The values of an application's undeclared sentences are not checked.
 */
export type ParamsOfKey<K extends MessageKey> = K extends keyof Messages
  ? ParamsOf<Messages[K]>
  : [params?: MessageParams];

/**
 * Translates a sentence, or a message that was created before, into one language: `t("app.orders.count", { count: 2
 * })`.
 */
export interface Translate {
  /**
   * @param key the sentence's key
   * @param params values for its placeholders. Numbers, dates and durations are formatted for the language; the number
   * `count` selects the plural form
   * @throws `E_INTERNAL` if no language has a sentence with this key
   */
  <K extends MessageKey>(key: K, ...params: ParamsOfKey<K>): string;
  /** @param message such as one of the `errors` of a `ValidationError` */
  (message: Message): string;
  /**
   * Makes a message from a sentence, which is translated later for its reader: for a `ValidationError`, an
   * {@link AshlarError}, or a login step that refuses a login.
   *
   * ```ts
   * const refusal = new ValidationError({ email: [t.message("auth.email.taken")] });
   * ```
   *
   * @param key the sentence's key, which becomes the message's `rule`
   * @param params as for `t()`
   * @throws `E_INTERNAL` if no language has a sentence with this key
   */
  message<K extends MessageKey>(key: K, ...params: ParamsOfKey<K>): Message;
}

/**
 * Imports sentences in languages other than English, by the language's tag: `{ de: () => import("./messages.de.ts") }`.
 * The module exports them as `MESSAGES`, like a file of `lang/`.
 */
export type Translations = Readonly<Record<string, () => Promise<{ readonly MESSAGES: Sentences }>>>;

/**
 * An application's own sentences in one language, including replacements for features' sentences: one file in `lang/`.
 */
export interface LanguageFile {
  /** The file's path, as shown in messages: `lang/de.ts`. */
  readonly file: string;
  /** The language tag: `de`. */
  readonly language: string;
  readonly sentences: Readonly<Record<string, unknown>>;
}

/** The prefix of the keys of an application's own sentences. */
const OWN = "app.";
/** The keys of error codes' sentences. They have no English sentence if the application doesn't declare the code. */
const OF_ERRORS = /^errors\.(?:page\.)?E_/;

/** One language: how it formats numbers and dates, and its sentences. */
interface Language {
  readonly wording: Wording;
  readonly sentences: Map<string, Sentence>;
}

/**
 * The sentences of an application in all languages that it offers. It is the container's `messages`.
 *
 * Features declare their sentences in English when they register, and say how to load other languages. Only languages
 * that the application offers are loaded, at boot. A sentence that is missing in a language comes from a broader one
 * (`de` for `de-AT`), from the default language if it is the application's own, and finally from English.
 */
export class Catalogue {
  /** The language of visitors whose preference is unknown or not offered. */
  readonly defaultLanguage: string;
  /** The languages that are offered to visitors, with the default one first. */
  readonly languages: readonly string[];
  /** @internal The direction of each offered language's text. */
  readonly directions: ReadonlyMap<string, TextDirection>;
  readonly #all = new Map<string, Language>();
  readonly #translations: Translations[] = [];
  readonly #orders = new Map<string, readonly string[]>();

  /**
   * The prototype of every translator. If `message` were a property of each, V8 would free neither it nor its request
   * before the next full garbage collection.
   */
  readonly #translatorMembers: object = Object.create(Function.prototype, {
    message: { value: (key: string, params: MessageParams = {}): Message => this.#makeMessage(key, params) },
  }) as object;

  /**
   * @param defaultLanguage its tag (BCP 47)
   * @param languages the tags of all languages that are offered
   */
  constructor(defaultLanguage: string = ENGLISH, languages: readonly string[] = []) {
    this.defaultLanguage = defaultLanguage;
    this.languages = Object.freeze([...new Set([defaultLanguage, ...languages])]);
    this.directions = new Map(this.languages.map((language) => [language, textDirection(language)]));
  }

  /**
   * Declares the sentences of a feature. Call it in `register()` of its provider.
   *
   * @param sentences the English sentences; a key consists of the feature's name, a subject and the content
   * @param translations functions that import the sentences in other languages, by tag
   * @throws `E_INVALID_CONFIGURATION` if a key was declared before
   */
  declare(sentences: Sentences, translations: Translations = {}): void {
    const english = this.#language(ENGLISH).sentences;
    for (const [key, sentence] of Object.entries(sentences)) {
      if (english.has(key)) {
        const message = `The message "${key}" is declared twice. Begin the keys of a feature with its name.`;
        throw new AshlarError("E_INVALID_CONFIGURATION", message);
      }
      english.set(key, sentence);
    }
    this.#translations.push(translations);
  }

  /**
   * Loads the offered languages, once every feature has declared its sentences.
   *
   * @param files the application's own sentences, which take precedence
   * @throws `E_INVALID_CONFIGURATION` if a key is unknown, a sentence is invalid or has an unknown placeholder, or a
   * language has no sentences at all
   */
  async load(files: readonly LanguageFile[] = []): Promise<void> {
    const wanted = new Set(this.languages.flatMap(withWiderTags));
    await Promise.all(
      this.#translations.flatMap((translations) =>
        Object.entries(translations).map(async ([language, load]) => {
          if (wanted.has(language)) this.#addTranslation(language, (await load()).MESSAGES);
        }),
      ),
    );
    // The other languages are checked against the application's own sentences in its default language.
    const ordered = files.toSorted((a, b) => Number(this.#isDefault(b.language)) - Number(this.#isDefault(a.language)));
    for (const file of ordered) this.#add(file.language, this.#checked(file));
    for (const language of this.languages) {
      if (withWiderTags(language).some((tag) => tag === ENGLISH || this.#all.has(tag))) continue;
      const remedy = `Add lang/${language}.ts: export const MESSAGES = { … };`;
      throw new ConfigurationError(
        "config/app.ts: APP.languages",
        `offers "${language}", which has no sentences.`,
        remedy,
      );
    }
  }

  /** @internal A language's own sentences, by key. */
  sentencesIn(language: string): ReadonlyMap<string, Sentence> {
    return this.#all.get(language)?.sentences ?? new Map();
  }

  /**
   * The language that a user has chosen, from the property `language`; `null` if the user hasn't chosen one, or if it
   * isn't offered.
   */
  ofUser(user: object | null): string | null {
    return languageOfUser(user, this.languages);
  }

  /** The language for a client with this `Accept-Language`. */
  negotiate(acceptLanguage: string | null): string {
    return languageOfClient(acceptLanguage, this.languages);
  }

  /**
   * Returns a function that translates into a language. The function doesn't use `this`.
   *
   * @param language its tag, or a function that returns it when a sentence is needed
   */
  translator(language: string | (() => string)): Translate {
    const translate = (subject: string | Message, params: MessageParams = {}): string => {
      const order = this.#order(typeof language === "string" ? language : language());
      if (typeof subject !== "string") return this.#message(order, subject);
      return this.#sentence(order, subject, params) ?? this.#unknown(subject);
    };
    return Object.setPrototypeOf(translate, this.#translatorMembers) as Translate;
  }

  /** The sentence in English, as in logs, or else in the application's own language. */
  #makeMessage(key: string, params: MessageParams): Message {
    const message = this.#sentence(this.#order(ENGLISH), key, params) ?? this.#unknown(key);
    return Object.freeze({ rule: key, params, message });
  }

  /**
   * The order in which a sentence is looked up: in the language, in broader ones, in the default language, in English.
   */
  #order(language: string): readonly string[] {
    let order = this.#orders.get(language);
    if (order === undefined) {
      order = [...new Set([...withWiderTags(language), ...withWiderTags(this.defaultLanguage), ENGLISH])];
      this.#orders.set(language, order);
    }
    return order;
  }

  #sentence(order: readonly string[], key: string, params: MessageParams): string | null {
    for (const tag of order) {
      const language = this.#all.get(tag);
      const sentence = language?.sentences.get(key);
      if (sentence === undefined) continue;
      return language!.wording.say(sentence, params, (message) => this.#message(order, message));
    }
    return null;
  }

  #message(order: readonly string[], { rule, params, message }: Message): string {
    return (rule === null ? null : this.#sentence(order, rule, params)) ?? message;
  }

  #unknown(key: string): never {
    const near = suggestion(key, this.#keys());
    throw new AshlarError(
      "E_INTERNAL",
      `There is no sentence "${key}". ${near} The application's own sentences are in lang/.`,
    );
  }

  #keys(): string[] {
    return [...new Set([...this.#all.values()].flatMap(({ sentences }) => [...sentences.keys()]))];
  }

  #isDefault(language: string): boolean {
    return language === this.defaultLanguage;
  }

  #language(tag: string): Language {
    let language = this.#all.get(tag);
    if (language === undefined) {
      language = { wording: new Wording(tag), sentences: new Map() };
      this.#all.set(tag, language);
    }
    return language;
  }

  /**
   * Adds a feature's sentences in a language other than English, including those of its error codes.
   *
   * @throws `E_INVALID_CONFIGURATION` if another feature has already translated one of them, or as for {@link load}
   */
  #addTranslation(tag: string, sentences: Sentences): void {
    const language = this.#language(tag);
    for (const [key, sentence] of Object.entries(sentences)) {
      const where = `A feature's sentences in "${tag}": MESSAGES["${key}"]`;
      if (language.sentences.has(key)) {
        throw new ConfigurationError(where, "is translated by another feature.", "Leave it out, or put it in lang/.");
      }
      if (!OF_ERRORS.test(key)) this.#check(where, tag, key, sentence);
      language.sentences.set(key, sentence);
    }
  }

  #add(tag: string, sentences: Sentences): void {
    const language = this.#language(tag);
    for (const [key, sentence] of Object.entries(sentences)) language.sentences.set(key, sentence);
  }

  /**
   * Returns a file's sentences. Each one either replaces or translates an existing sentence, or is the application's
   * own.
   */
  #checked({ file, language, sentences }: LanguageFile): Sentences {
    for (const [key, sentence] of Object.entries(sentences)) {
      this.#check(`${file}: MESSAGES["${key}"]`, language, key, sentence);
    }
    return sentences as Sentences;
  }

  #check(where: string, language: string, key: string, sentence: unknown): void {
    if (!isSentence(sentence)) {
      const problem = isWithoutOther(sentence) ? 'lacks the plural form "other".' : "is not a sentence.";
      throw new ConfigurationError(where, problem, 'Write text, or { one: "…", other: "…" }.');
    }
    const known = this.#original(key);
    if (known === undefined) {
      if (key.startsWith(OWN) && this.#isDefault(language)) return;
      throw new ConfigurationError(where, `is not a message${this.#whose(key)}.`, this.#near(key));
    }
    const names = paramNames(known);
    for (const name of paramNames(sentence)) {
      if (names.has(name)) continue;
      const remedy = names.size === 0 ? "It has none." : suggestion(name, names);
      throw new ConfigurationError(where, `has an unknown placeholder {${name}}.`, remedy);
    }
  }

  /** Returns the sentence with the same key, which this one replaces or translates. */
  #original(key: string): Sentence | undefined {
    return this.#all.get(ENGLISH)?.sentences.get(key) ?? this.#all.get(this.defaultLanguage)?.sentences.get(key);
  }

  #whose(key: string): string {
    return key.startsWith(OWN) ? ` of lang/${this.defaultLanguage}.ts, the default language` : "";
  }

  #near(key: string): string {
    const near = nearest(key, this.#keys());
    if (near.length > 0) return suggestion(key, near);
    return key.startsWith(OWN) ? "Add it there." : `Begin the keys of your own sentences with "${OWN}".`;
  }
}

/** A tag, followed by the broader ones: `de-AT`, `de`. */
function withWiderTags(tag: string): string[] {
  const parts = tag.split("-");
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("-"));
}
