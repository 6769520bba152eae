import { randomToken } from "../../security/index.ts";
import {
  type Dictionary,
  dictionary,
  isPlainObject,
  isPrototypeName,
  now,
  restoreOnRollback,
} from "../../support/index.ts";
import { checkKey, OWN_PREFIX, toSessionValue } from "./session-value.ts";

/** A session's contents between two requests. */
export interface SessionContents {
  /** Values that stay until they are removed. */
  readonly data: Dictionary;
  /** Values for the next request only. */
  readonly flash: Dictionary;
  /**
   * Whether something else depends on the session's id, such as a form's token. The session is then kept even if it is
   * empty.
   */
  readonly isIdentified: boolean;
}

/** The stored state that a session is restored from. */
export interface SessionBeginning {
  readonly id: string;
  /** When the session got its id, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly contents: SessionContents;
}

/**
 * A session's id, its values, and its flashed values, which are kept only for the next page. `Session` adds forms'
 * input and errors, and visitors' intended pages.
 */
export abstract class SessionData {
  readonly #onChange: () => void;
  #id: string;
  #createdAt: number;
  #isIdentified: boolean;
  #data: Dictionary;
  /** Values that the previous request flashed. */
  #flash: Dictionary;
  /** Values that this request flashes for the next one. */
  #next: Dictionary = dictionary();
  /**
   * The keys of `#flash` that were read; `null` if all flashed values end with this request, whether or not they were
   * read.
   */
  #read: Set<string> | null = null;

  /**
   * @param beginning the session's stored contents; `null` for a new session
   * @param onChange called after each change
   */
  constructor(beginning: SessionBeginning | null, onChange: () => void) {
    this.#onChange = onChange;
    this.#id = beginning?.id ?? randomToken();
    this.#createdAt = beginning?.createdAt ?? now();
    this.#isIdentified = beginning?.contents.isIdentified === true;
    this.#data = beginning?.contents.data ?? dictionary();
    this.#flash = beginning?.contents.flash ?? dictionary();
  }

  /**
   * Identifies the session: 256 random bits, which change with {@link regenerate} and {@link invalidate}. If the id is
   * read, the session is kept even if it is empty.
   *
   * Security: the cookie contains this id, unless it contains the session itself. Never print the id, and store only
   * its digest.
   */
  get id(): string {
    if (!this.#isIdentified) {
      this.#isIdentified = true;
      this.#onChange();
    }
    return this.#id;
  }

  /**
   * The stored or flashed value under a key.
   *
   * @param fallback the result if there is no value; default: `null`
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
    this.remove(key);
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
    for (const key of keys) if (!isOwnKey(key)) this.remove(key);
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
   * makes by itself in the meantime, for example for an image or for data, don't use up the value unless they read it.
   *
   * @throws `E_SESSION` like {@link put}
   */
  flash(key: string, value: unknown): this {
    checkKey(key);
    return this.flashOwn(key, toSessionValue(key, value));
  }

  /** The flashed value under a key. */
  flashed(key: string, fallback: unknown = null): unknown {
    return isOwnKey(key) ? fallback : this.#valueIn(key, fallback, this.#next, this.#flash);
  }

  /** Keeps everything that the previous request flashed, including errors and old input, for one more request. */
  reflash(): this {
    this.#changing();
    this.#next = Object.assign(dictionary(), this.#flash, this.#next);
    this.#onChange();
    return this;
  }

  /** Keeps what the previous request flashed under these keys for one more request. */
  keep(...keys: readonly string[]): this {
    this.#changing();
    for (const key of keys) {
      if (!isOwnKey(key) && key in this.#flash) this.#next[key] = this.#flash[key];
    }
    this.#onChange();
    return this;
  }

  /** Gives the session a new id, and therefore new CSRF tokens. Tokens on pages that are still open become invalid. */
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
   * @internal Keeps the flashed values, except those that this request reads, because this isn't the page that the
   * visitor is waiting for.
   */
  keepUnread(): void {
    this.#read ??= new Set();
  }

  /** @internal The contents to keep, as text; `null` if nothing has to be kept. */
  encode(): string | null {
    const flash = this.#read === null ? this.#next : { ...this.#unread(this.#read), ...this.#next };
    return encodeContents({ data: this.#data, flash, isIdentified: this.#isIdentified });
  }

  #unread(read: ReadonlySet<string>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.#flash).filter(([key]) => !read.has(key)));
  }

  /** @internal The id, without marking it as read, and the time when it was assigned. */
  get identity(): { readonly id: string; readonly createdAt: number } {
    return { id: this.#id, createdAt: this.#createdAt };
  }

  /** @internal One of the framework's own stored values. */
  protected stored(key: string): unknown {
    return this.#data[key];
  }

  /** @internal Stores one of the framework's own values; `null` removes it. */
  protected store(key: string, value: unknown): void {
    this.#changing();
    this.remove(key);
    if (value !== null) this.#data[key] = value;
    this.#onChange();
  }

  /** @internal One of the framework's own flashed values, from this request or the previous one. */
  protected flashedOwn(key: string, fallback: unknown): unknown {
    return this.#valueIn(key, fallback, this.#next, this.#flash);
  }

  /** @internal One of the framework's own values that this request has flashed; `undefined` if it hasn't. */
  protected flashedHere(key: string): unknown {
    return this.#next[key];
  }

  /** @internal Treats a value as if the previous request had flashed it. */
  protected receive(key: string, value: unknown): void {
    this.#flash[key] = value;
  }

  /** @internal Keeps one of the framework's own values for the next page. */
  protected flashOwn(key: string, value: unknown): this {
    this.#changing();
    this.remove(key);
    this.#next[key] = value;
    this.#onChange();
    return this;
  }

  /** @internal Removes the framework's own values under these keys, stored or flashed. */
  protected discard(...keys: readonly string[]): void {
    this.#changing();
    for (const key of keys) this.remove(key);
    this.#onChange();
  }

  /** @internal Replaces what this request has flashed under a key while the session is saved; `undefined` removes it. */
  protected replaceFlashed(key: string, value: unknown): void {
    if (value === undefined) delete this.#next[key];
    else this.#next[key] = value;
  }

  /** Call it before each change, to undo the change if the caller's database transaction is rolled back. */
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

  /** @internal Removes a value without recording that the session has changed. */
  protected remove(key: string): void {
    delete this.#data[key];
    delete this.#flash[key];
    delete this.#next[key];
  }
}

/** Reports whether a key is one of the framework's own. */
function isOwnKey(key: string): boolean {
  return key.startsWith(OWN_PREFIX);
}

/** Deeply freezes a value that was parsed from JSON. */
export function freezeParsed<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeParsed(member);
  return Object.freeze(value);
}

/** The contents as text; `null` if nothing has to be kept. */
export function encodeContents({ data, flash, isIdentified }: SessionContents): string | null {
  const contents: Record<string, unknown> = {};
  if (Object.keys(data).length > 0) contents.d = data;
  if (Object.keys(flash).length > 0) contents.f = flash;
  if (isIdentified) contents.i = 1;
  return Object.keys(contents).length === 0 ? null : JSON.stringify(contents);
}

/** The contents that a text encodes; `null` if the text isn't from {@link encodeContents}. */
export function decodeContents(text: string): SessionContents | null {
  const contents = parse(text);
  if (!isPlainObject(contents)) return null;
  const { d: data = {}, f: flash = {}, i: identified } = contents;
  if (!isPlainObject(data) || !isPlainObject(flash)) return null;
  return { data: frozenMembers(data), flash: frozenMembers(flash), isIdentified: identified === 1 };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function frozenMembers(values: Readonly<Dictionary>): Dictionary {
  const result = dictionary();
  for (const [key, value] of Object.entries(values)) {
    if (!isPrototypeName(key)) result[key] = freezeParsed(value);
  }
  return result;
}
