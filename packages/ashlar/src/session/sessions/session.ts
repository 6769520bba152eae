import { redirectTarget, TrustedOrigins, trustedUrl } from "../../http/index.ts";
import { inEnglish } from "../../messages/index.ts";
import { randomToken } from "../../security/index.ts";
import {
  AshlarError,
  type Dictionary,
  dictionary,
  type FieldErrors,
  type FieldSentences,
  type Message,
  now,
  restoreOnRollback,
} from "../../support/index.ts";
import { checkKey, encodeContents, isOwnKey, type SessionContents, toSessionValue } from "./session-contents.ts";
import { noteReading, readStoredErrors, toStoredErrors } from "./session-errors.ts";
import { fittingInput, inputAt, ROOM_AROUND_INPUT, refillableInput } from "./session-input.ts";
import "../errors.ts";

const OLD_INPUT = "__old";
const ERRORS = "__errors";
const TYPED = "__typed";
const INTENDED = "url.intended";

/** A user's input to a form that was refused because it needs a login, or another proof, first. */
export interface TypedForm {
  /** The form's tag, which identifies the user. */
  readonly owner: string;
  /** The host, path and query of the form's page. */
  readonly page: string;
  readonly input: Readonly<Dictionary>;
}

/** The stored state that a session is restored from. */
export interface SessionBeginning {
  readonly id: string;
  /** When it got its id, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly contents: SessionContents;
}

/**
 * Data about a visitor that is kept from one request to the next: `context.session`.
 *
 * Keys are plain names: `"cart.items"` is one key, not a path. Values must be representable in JSON. They are copied
 * when stored and frozen when read, so {@link put} is the only way to change them. If a database transaction is rolled
 * back, so are the changes made in it.
 *
 * Security: guards, not the session, know who is logged in. A user's id in the session proves nothing once the user has
 * logged out elsewhere.
 */
export class Session {
  readonly #onChange: () => void;
  readonly #t: (message: Message) => string;
  readonly #origins: TrustedOrigins;
  readonly #isFor: (typed: TypedForm) => boolean;
  #id: string;
  #createdAt: number;
  #isIdentified: boolean;
  #data: Dictionary;
  /** Values that the previous request flashed. */
  #flash: Dictionary;
  /** Values that this request flashes for the next one. */
  #next: Dictionary = dictionary();
  #hasShownErrors = false;
  /** The keys of `#flash` that were read; `null` if all of it ends with this request, read or not. */
  #read: Set<string> | null = null;

  /**
   * @param beginning the session's stored contents; `null` for a new session
   * @param onChange called after each change
   * @param t translates a message into the visitor's language
   * @param origins the other origins where a visitor may have been heading
   * @param isFor reports whether this request's page is a form's page, and its user the one who filled in the form
   */
  constructor(
    beginning: SessionBeginning | null,
    onChange: () => void = () => {},
    t: (message: Message) => string = inEnglish,
    origins: TrustedOrigins = new TrustedOrigins(),
    isFor: (typed: TypedForm) => boolean = () => false,
  ) {
    this.#onChange = onChange;
    this.#t = t;
    this.#origins = origins;
    this.#isFor = isFor;
    this.#id = beginning?.id ?? randomToken();
    this.#createdAt = beginning?.createdAt ?? now();
    this.#isIdentified = beginning?.contents.isIdentified === true;
    this.#data = beginning?.contents.data ?? dictionary();
    this.#flash = beginning?.contents.flash ?? dictionary();
  }

  /**
   * Identifies the session: 256 random bits, new after {@link regenerate} and {@link invalidate}. A session whose id
   * was read is kept, even if it is empty.
   *
   * Security: unless the cookie holds the session itself, it carries this id. Never print it; store
   * only its digest.
   */
  get id(): string {
    if (!this.#isIdentified) {
      this.#isIdentified = true;
      this.#onChange();
    }
    return this.#id;
  }

  /**
   * The value under a key, stored or flashed.
   *
   * @param fallback the result if there isn't one; default: `null`
   */
  get(key: string, fallback: unknown = null): unknown {
    return isOwnKey(key) ? fallback : this.#valueIn(key, fallback, this.#data, this.#next, this.#flash);
  }

  /** Reports whether there is a value under a key, even `null`. */
  has(key: string): boolean {
    return !isOwnKey(key) && (key in this.#data || key in this.#next || key in this.#flash);
  }

  /**
   * Stores a value, replacing any under the same key.
   *
   * @throws `E_SESSION` if the key begins with `__` or could lead to a prototype, or if JSON cannot hold the value
   */
  put(key: string, value: unknown): this {
    checkKey(key);
    const kept = toSessionValue(key, value);
    this.#changing();
    this.#remove(key);
    this.#data[key] = kept;
    this.#onChange();
    return this;
  }

  /** Returns the value under a key and removes it. */
  pull(key: string, fallback: unknown = null): unknown {
    const value = this.get(key, fallback);
    this.forget(key);
    return value;
  }

  /** Removes the values under these keys. */
  forget(...keys: readonly string[]): this {
    this.#changing();
    for (const key of keys) if (!isOwnKey(key)) this.#remove(key);
    this.#onChange();
    return this;
  }

  /** Removes everything, including what was flashed. The id stays. */
  flush(): this {
    this.#changing();
    this.#data = dictionary();
    this.#flash = dictionary();
    this.#next = dictionary();
    this.#onChange();
    return this;
  }

  /** All values by key, stored and flashed, as a new dictionary; without errors and old input. */
  all(): Record<string, unknown> {
    const all = Object.assign(dictionary(), this.#flash, this.#next, this.#data);
    for (const key of Object.keys(this.#flash)) if (!isOwnKey(key)) this.#noteRead(key);
    for (const key of Object.keys(all)) if (isOwnKey(key)) delete all[key];
    return all;
  }

  /**
   * Keeps a value for the rest of this request and for the next page that opens the session. Requests that an open page
   * makes by itself in between, such as for an image or for data, leave the value there, unless they read it.
   *
   * @throws `E_SESSION` as {@link put}
   */
  flash(key: string, value: unknown): this {
    checkKey(key);
    return this.#flashFor(key, toSessionValue(key, value));
  }

  /** The flashed value under a key. */
  flashed(key: string, fallback: unknown = null): unknown {
    return isOwnKey(key) ? fallback : this.#valueIn(key, fallback, this.#next, this.#flash);
  }

  /** Keeps everything that was flashed before, errors and old input included, for one more request. */
  reflash(): this {
    this.#changing();
    this.#next = Object.assign(dictionary(), this.#flash, this.#next);
    this.#onChange();
    return this;
  }

  /** Keeps what was flashed before under these keys for one more request. */
  keep(...keys: readonly string[]): this {
    this.#changing();
    for (const key of keys) {
      if (!isOwnKey(key) && key in this.#flash) this.#next[key] = this.#flash[key];
    }
    this.#onChange();
    return this;
  }

  /**
   * Keeps a form's inputs for the next page, which fills them in again with {@link old}: as many of them as the session has
   * room for. Inputs whose names contain
   * password, passphrase, passcode, token or secret are left out at any depth.
   */
  flashInput(input: Readonly<Dictionary>): this {
    return this.#flashFor(OLD_INPUT, toSessionValue("old input", refillableInput(input)));
  }

  /**
   * The input of a form that is shown again.
   *
   * @param name the input's name, or a path: `items.0.name`
   */
  old(name: string, fallback: unknown = null): unknown {
    return inputAt(this.#valueIn(OLD_INPUT, null, this.#next, this.#flash) ?? this.#returned(), name) ?? fallback;
  }

  /** @internal Input that waits for its user; `null` if there isn't any. */
  get typed(): TypedForm | null {
    return (this.#data[TYPED] as TypedForm | undefined) ?? null;
  }

  /** @internal Keeps input until its user opens the form's page again; `null` forgets it. */
  keepTyped(typed: TypedForm | null): void {
    if (typed === null && this.typed === null) return;
    const kept = typed === null ? null : toSessionValue("old input", typed);
    this.#changing();
    this.#remove(TYPED);
    if (kept !== null) this.#data[TYPED] = kept;
    this.#onChange();
  }

  /** Input that waited for this page and its user. From now on, it is treated like any other flashed input. */
  #returned(): unknown {
    const { typed } = this;
    if (typed === null || !this.#isFor(typed)) return null;
    this.keepTyped(null);
    this.#flash[OLD_INPUT] = typed.input;
    return typed.input;
  }

  /**
   * Keeps errors by field for the next page, which shows them with {@link errors} in its own visitor's language: the
   * `errors` of a `ValidationError`, messages made by `t.message()`, or text that is shown as it is.
   */
  flashErrors(errors: FieldSentences): this {
    this.#hasShownErrors = false;
    return this.#flashFor(ERRORS, toSessionValue("errors", toStoredErrors(errors)));
  }

  /**
   * @internal Whether the text of one of this request's messages was read, as by a page that shows it, not only
   * counted.
   */
  get hasShownErrors(): boolean {
    return this.#hasShownErrors;
  }

  /** @internal Removes the old input and the messages that this request has flashed. */
  forgetMistakes(): void {
    this.#changing();
    this.#remove(OLD_INPUT);
    this.#remove(ERRORS);
    this.#onChange();
  }

  /**
   * The errors by field of a form that is shown again, as a new dictionary: the rules that were broken, their parameters,
   * and the sentences in the visitor's language. Those of the whole form are under `""`.
   */
  errors(): FieldErrors {
    const errors = readStoredErrors(this.#valueIn(ERRORS, {}, this.#next, this.#flash), this.#t);
    // A page's title may mention mistakes while its form shows none of them.
    if (ERRORS in this.#next) noteReading(errors, () => (this.#hasShownErrors = true));
    return errors;
  }

  /** Gives the session a new id, and with it new CSRF tokens; tokens on pages that are still open become invalid. */
  regenerate(): this {
    this.#changing();
    this.#id = randomToken();
    this.#createdAt = now();
    this.#onChange();
    return this;
  }

  /** Removes everything and gives the session a new id. */
  invalidate(): this {
    this.#changing();
    this.#isIdentified = false;
    this.#id = randomToken();
    this.#createdAt = now();
    return this.flush();
  }

  /**
   * Remembers where the visitor was heading, for {@link intended}. Anything but a path of the application, or an absolute
   * URL of an origin in `APP.trustedOrigins`, is ignored.
   *
   * @param guard the guard whose login is required; each guard has its own destination; `null` for the default guard
   */
  intend(path: string, guard: string | null = null): this {
    const target = this.#permitted(path, "");
    return target === "" ? this : this.put(intendedKey(guard), target);
  }

  /**
   * Returns where the visitor was heading, and removes it.
   *
   * @param fallback the destination otherwise; it comes from the application and is not checked
   * @param guard as in {@link intend}
   */
  intended(fallback = "/", guard: string | null = null): string {
    return this.#permitted(this.pull(intendedKey(guard)), fallback);
  }

  /** Checked when it is read, too: an origin may no longer be listed. */
  #permitted(target: unknown, fallback: string): string {
    return trustedUrl(this.#origins, target) ?? redirectTarget(target, fallback);
  }

  /**
   * @internal Keeps the flashed values, except those that this request reads: this isn't the page that the visitor is
   * waiting for.
   */
  keepUnread(): void {
    this.#read ??= new Set();
  }

  /** @internal The contents to keep, as text; `null` if there aren't any. */
  encode(): string | null {
    const flash = this.#read === null ? this.#next : { ...this.#unread(this.#read), ...this.#next };
    return encodeContents({ data: this.#data, flash, isIdentified: this.#isIdentified });
  }

  /** @internal The same, with as much of the old input as fits into this many bytes. */
  encodeWithin(maxBytes: number): string | null {
    this.#remove(TYPED);
    const input = this.#next[OLD_INPUT];
    if (input === undefined) return this.encode();
    delete this.#next[OLD_INPUT];
    const room = maxBytes - Buffer.byteLength(this.encode() ?? "") - ROOM_AROUND_INPUT;
    const fitting = fittingInput(input as Dictionary, room);
    // An empty one needs room, too.
    if (Object.keys(fitting).length > 0) this.#next[OLD_INPUT] = fitting;
    return this.encode();
  }

  #unread(read: ReadonlySet<string>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.#flash).filter(([key]) => !read.has(key)));
  }

  /** @internal The id, whether or not anything depends on it, and the time when it was assigned. */
  get identity(): { readonly id: string; readonly createdAt: number } {
    return { id: this.#id, createdAt: this.#createdAt };
  }

  #flashFor(key: string, value: unknown): this {
    this.#changing();
    this.#remove(key);
    this.#next[key] = value;
    this.#onChange();
    return this;
  }

  /** Called before each change: if the caller's database transaction is rolled back, it has not happened. */
  #changing(): void {
    restoreOnRollback(this, () => {
      const [id, createdAt, isIdentified] = [this.#id, this.#createdAt, this.#isIdentified];
      const [data, flash, next] = [this.#data, this.#flash, this.#next].map((one) => Object.assign(dictionary(), one));
      return () => {
        this.#id = id;
        this.#createdAt = createdAt;
        this.#isIdentified ||= isIdentified;
        this.#data = data!;
        this.#flash = flash!;
        this.#next = next!;
        this.#onChange();
      };
    });
  }

  #valueIn(key: string, fallback: unknown, ...places: readonly Dictionary[]): unknown {
    for (const place of places) {
      if (!(key in place)) continue;
      if (place === this.#flash) this.#noteRead(key);
      return place[key];
    }
    return fallback;
  }

  #noteRead(key: string): void {
    if (this.#read === null || this.#read.has(key)) return;
    this.#read.add(key);
    this.#onChange();
  }

  #remove(key: string): void {
    delete this.#data[key];
    delete this.#flash[key];
    delete this.#next[key];
  }
}

function intendedKey(guard: string | null): string {
  return guard === null ? INTENDED : `${INTENDED}.${guard}`;
}

/** The error for using a session when none is open. */
export function sessionNotOpen(): AshlarError {
  return new AshlarError(
    "E_SESSION",
    "There is no session here: the route does not go through SessionMiddleware, or has not reached it yet. Put SessionMiddleware first in the stack, in routeMiddleware of app/kernel.ts.",
  );
}
