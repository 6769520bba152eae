import { domainFor, type HttpContext, isInBackground, isSpeculative, requestSearch } from "../../http/index.ts";
import { AshlarError, isThenable, type MaybePromise, now } from "../../support/index.ts";
import { isSafeMethod, pageAddress } from "../csrf/csrf-tokens.ts";
import type { SessionRecord } from "../stores/session-keeper.ts";
import { Session, sessionNotOpen, type TypedForm } from "./session.ts";
import { decodeContents } from "./session-data.ts";
import type { SessionManager } from "./session-manager.ts";
import "../errors.ts";

declare module "../../http/exchange/context.ts" {
  interface Visitor extends RequestSession {}
}

/** If a request takes longer than this, it doesn't count as a use of an unchanged session, in milliseconds. */
const LATE_MS = 1000;

/** The session of one request. It is opened on first use, and saved once the request has been handled. */
export class RequestSession {
  readonly manager: SessionManager;
  /** The path and query of the page, if it is shown in the response to its form, at the form's address. */
  formPage: string | null = null;
  readonly #context: HttpContext;
  /** The browser's cookie, as far as we know: the request's, or the one set by this response. */
  #cookie: string | null = null;
  #found: SessionRecord | null = null;
  #isLoaded = false;
  #loadedAt = 0;
  /** The reason why the session could not be read. If set, the session can't be opened. */
  #failure: { readonly error: unknown } | null = null;
  #session: Session | null = null;
  #isClosed = false;
  #late: Promise<void> = Promise.resolve();

  constructor(context: HttpContext, manager: SessionManager) {
    this.#context = context;
    this.manager = manager;
    context.visitor = this;
  }

  /** Reads the session now if the store is asynchronous; otherwise it is read on first use. */
  load(): MaybePromise<void> {
    if (!this.manager.keeper.isRemote) return;
    const failed = (error: unknown): never => {
      this.#failure = { error };
      throw error;
    };
    try {
      const finding = this.#find();
      if (isThenable(finding)) return finding.then((record) => this.#loaded(record), failed);
      this.#loaded(finding);
    } catch (error) {
      failed(error);
    }
  }

  /** Whether the session can be opened: `false` if the store could not be read. */
  get isReadable(): boolean {
    return this.#failure === null;
  }

  /** The session; reading this property opens it. */
  get session(): Session {
    if (this.#session === null) {
      this.#session = this.#open();
      // An error page also removes the values that were flashed for one request.
      this.#changed(this.#session);
    }
    return this.#session;
  }

  /**
   * Reports whether the browser sent the cookie of an existing session. This opens the session, but does not cause it
   * to be saved.
   */
  get isKnown(): boolean {
    return this.session !== null && this.#found !== null;
  }

  regenerate(): void {
    this.session.regenerate();
  }

  invalidate(): void {
    this.session.invalidate();
  }

  flush(): void {
    this.session.flush();
  }

  intend(path: string, guard: string | null = null): void {
    this.session.intend(path, guard);
  }

  intended(fallback: string, guard: string | null = null): string {
    return this.session.intended(fallback, guard);
  }

  /** Reports whether a token was issued for this session. This opens the session, but does not cause it to be saved. */
  matchesToken(token: unknown): boolean {
    return this.manager.tokens.matches(this.session.identity.id, token);
  }

  /** Reports whether a token was issued in a page that was shown to this session, by the page's host and path. */
  provesPage(page: string, token: unknown): boolean {
    return this.manager.tokens.provesPage(this.session.identity.id, page, token);
  }

  /** Forgets the input of any user other than this one. */
  keepTypedOnlyOf(owner: string): void {
    const { typed } = this.session;
    if (typed !== null && !this.manager.tokens.isTagOf(owner, typed.owner)) this.session.keepTyped(null);
  }

  /** Security: only the same user may see the input, and only on the page that it was entered on. */
  #isFor({ owner, page }: TypedForm): boolean {
    const { raw } = this.#context.request;
    if (!isSafeMethod(raw.method) || isInBackground(raw) || isSpeculative(raw)) return false;
    const path = `${this.#context.request.getPath()}${requestSearch(raw)}`;
    const user = this.manager.ownerOf(this.#context);
    return user !== null && page === pageAddress(this.#context, path) && this.manager.tokens.isTagOf(user, owner);
  }

  /** How many more bytes of contents the session has room for. */
  get room(): number {
    return this.manager.keeper.maxBytes - Buffer.byteLength(this.session.encode() ?? "");
  }

  /**
   * Saves the session if it was opened. If it changes later, for example because of an error page with a form, it is
   * saved again.
   *
   * @throws `E_SESSION` if the session is larger than its store allows
   */
  close(): MaybePromise<void> {
    this.#isClosed = true;
    if (this.#session === null) return;
    // A response that depends on the session must not be reused for other clients that request the same URL (RFC 9110
    // §12.5.5).
    this.#context.response.appendHeader("vary", "cookie");
    this.#noteVisitor(this.#session);
    return this.#keep(this.#session);
  }

  /** Lets the session change again after {@link close}, which then has to be called again. */
  reopen(): void {
    this.#isClosed = false;
  }

  /**
   * Records that the response depends on the visitor, if the session has contents, which may show in the response, or
   * an id that may be in a CSRF token. An empty session reveals nothing about anyone.
   */
  #noteVisitor(session: Session): void {
    if (this.#found !== null || session.encode() !== null) this.#context.response.dependsOnVisitor(true);
  }

  #find(): MaybePromise<SessionRecord | null> {
    this.#cookie = this.#context.request.cookie(this.manager.settings.cookie);
    return this.#cookie === null ? null : this.manager.find(this.#cookie, !this.#context.isReadOnly);
  }

  #loaded(record: SessionRecord | null): void {
    this.#found = record;
    this.#isLoaded = true;
    this.#loadedAt = now();
  }

  #open(): Session {
    // A session that couldn't be read must not be replaced with an empty one, because that would end the browser's
    // session.
    if (this.#failure !== null) throw this.#failure.error;
    // If the store is asynchronous, load() has already read the session.
    if (!this.#isLoaded) this.#loaded(this.#find() as SessionRecord | null);
    const contents = this.#found === null ? null : decodeContents(this.#found.contents);
    const beginning = contents === null ? null : { ...this.#found!, contents };
    const session: Session = new Session(
      beginning,
      () => this.#changed(session),
      this.#context.t,
      this.#context.services.origins,
      (typed) => this.#isFor(typed),
    );
    if (contents !== null && Object.keys(contents.flash).length > 0 && isInBackground(this.#context.request.raw)) {
      session.keepUnread();
    }
    return session;
  }

  #keep(session: Session): MaybePromise<void> {
    const previous = this.#found;
    const record = this.#due(session);
    if (record === null) return session.encode() === null ? this.#forget() : undefined;
    const saving = this.manager.keeper.save(record, previous);
    if (isThenable(saving)) return saving.then((isKept) => this.#send(record, isKept));
    this.#send(record, saving);
  }

  /**
   * Handles a change after the session was saved. The response is about to be sent, so its cookie has to be set now.
   */
  #changed(session: Session): void {
    if (!this.#isClosed) return;
    const previous = this.#found;
    try {
      this.#noteVisitor(session);
      const record = this.#due(session);
      if (record !== null) this.#send(record, true);
      const work = record === null ? this.#keep(session) : this.#saveAfterOthers(record, previous);
      if (isThenable(work)) this.manager.track(work);
    } catch (error) {
      this.manager.report(error);
    }
  }

  #saveAfterOthers(record: SessionRecord, previous: SessionRecord | null): Promise<void> {
    this.#late = this.#late.then(async () => void (await this.manager.keeper.save(record, previous)));
    return this.#late;
  }

  /**
   * The session as it has to be saved now; `null` if there is nothing to save, or if the stored session is recent
   * enough.
   */
  #due(session: Session): SessionRecord | null {
    const contents = session.encode();
    if (contents === null) return null;
    const { keeper, refreshAfterMs } = this.manager;
    const { id, createdAt } = session.identity;
    const found = this.#found;
    const usedAt = now();
    const isKept = found?.id === id && found.contents === contents;
    // The stored session, or the browser's, may be newer than the state at the start of a slow request.
    if (isKept && (usedAt - found.usedAt < refreshAfterMs || usedAt - this.#loadedAt > LATE_MS)) return null;
    let bytes = Buffer.byteLength(contents);
    if (bytes <= keeper.maxBytes) return { id, createdAt, usedAt, contents };
    // Both the rest of the session and sending a response are more important than the input.
    const fitting = session.encodeWithin(keeper.maxBytes)!;
    bytes = Buffer.byteLength(fitting);
    if (bytes <= keeper.maxBytes) return { id, createdAt, usedAt, contents: fitting };
    const problem = `The session holds ${bytes} bytes, but there is only room for ${keeper.maxBytes}.`;
    throw new AshlarError("E_SESSION", `${problem} ${keeper.remedy}`);
  }

  #send(record: SessionRecord, isKept: boolean): void {
    if (!isKept) return;
    this.#found = record;
    this.#cookie = this.manager.keeper.cookieFor(record);
    const { cookie: name, sameSite, domain } = this.manager.settings;
    const { response } = this.#context;
    const maxAgeSeconds = this.manager.secondsLeft(record);
    const options = { maxAgeSeconds, sameSite, ...domainFor(this.#context, domain) };
    // A cache that stored the response would give one visitor's session to others.
    response.identifiesVisitor().cookie(name, this.#cookie, options);
  }

  #forget(): MaybePromise<void> {
    if (this.#cookie === null) return;
    const found = this.#found;
    this.#cookie = null;
    this.#found = null;
    const { cookie: name, sameSite, domain } = this.manager.settings;
    const options = { sameSite, ...domainFor(this.#context, domain) };
    this.#context.response.identifiesVisitor().withoutCookie(name, options);
    if (found !== null) return this.manager.keeper.remove(found);
  }
}

/** The session of a request that goes through `SessionMiddleware`, opened or not; `null` for any other request. */
export function heldSession(context: HttpContext): RequestSession | null {
  return context.visitor;
}

/**
 * Like {@link heldSession}, for views. Also `null` if the session couldn't be read, so that the error page about that
 * can be rendered.
 */
export function shownSession(context: HttpContext): RequestSession | null {
  const held = heldSession(context);
  return held?.isReadable === true ? held : null;
}

/**
 * A request's session.
 *
 * @throws `E_SESSION` if the request does not go through `SessionMiddleware`
 */
export function requireSession(context: HttpContext): RequestSession {
  const held = heldSession(context);
  if (held === null) throw sessionNotOpen();
  return held;
}

/**
 * The data of a request's visitor: `context.session`.
 *
 * @throws `E_SESSION` as {@link requireSession}
 */
export function openedSession(context: HttpContext): Session {
  return requireSession(context).session;
}
