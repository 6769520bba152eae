import type { Application } from "../../boot/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import type { SessionSnapshot } from "../application/session-snapshot.ts";
import { failure } from "../failure.ts";
import { entriesBody, type FieldValues, type FormFields, formBody, submissionOf } from "../html/form-filling.ts";
import { based, chooseForm } from "../html/form-selector.ts";
import type { CookieJar } from "./cookie-jar.ts";
import { TestResponse } from "./test-response.ts";
import { type AnyUser, sameUser, userName, Visitor } from "./visitor.ts";

/** A client's properties, as seen by the application. */
export interface TestClientOptions {
  /** The origin of its requests; default: `application.url`. Over https, cookies are `Secure`. */
  readonly origin?: string;
  /** The address that its requests come from; default: `127.0.0.1`. */
  readonly address?: string;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Options of {@link TestClient.actingAs}. */
export interface ActingAsOptions {
  /** The guard's name; default: the default guard. */
  readonly guard?: string;
  /**
   * The name of the proof that the user has just given, such as `password`, so that `password.confirm` does not ask for one;
   * default: none.
   */
  readonly by?: string;
}

/** Options of a single request besides the client's own. */
export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
}

/** All parts of a request. */
export interface SentRequest extends SendOptions {
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams | FormData | null;
}

const PAGE_FIRST = "text/html,application/xhtml+xml,*/*;q=0.8";
const JSON_TYPE = "application/json";
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const MAX_REDIRECTS = 20;

/**
 * A visitor of an application, for tests: sends requests to `application.fetch`, without a socket, and stores cookies
 * like a browser.
 *
 * ```ts
 * const client = createTestClient(application);
 * const page = await client.get("/login");
 * const response =  await client.submit(page, { email: "ada@example.com", password });
 * response.assertRedirect("/home");
 * (await client.follow(response)).assertSee("Hello, Ada");
 * ```
 *
 * Each client is a separate visitor; for two users, create two clients.
 */
export class TestClient {
  readonly #visitor: Visitor;
  readonly #headers: Readonly<Record<string, string>>;
  #sendsCsrfToken = false;

  /** @internal Use `createTestClient`. */
  constructor(application: Application, options: TestClientOptions) {
    const origin = options.origin ?? application.url;
    this.#visitor = new Visitor(application, new URL(origin).origin, options.address ?? "127.0.0.1");
    this.#headers = options.headers ?? {};
  }

  /** The visitor's cookies. */
  get cookies(): CookieJar {
    return this.#visitor.cookies;
  }

  /** Requests a page. */
  get(path: string, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("GET", path, options);
  }

  /**
   * Sends a form that doesn't come from a page, as software other than a browser would.
   *
   * @param data `{ email: "ada@example.com", tags: ["a", "b"] }`; sent as multipart if it contains a `File` or `Blob`
   */
  post(path: string, data: FormFields = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("POST", path, { ...options, body: formBody(data) });
  }

  /** Sends a form by PUT; see {@link TestClient.post}. */
  put(path: string, data: FormFields = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("PUT", path, { ...options, body: formBody(data) });
  }

  /** Sends a form by PATCH; see {@link TestClient.post}. */
  patch(path: string, data: FormFields = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("PATCH", path, { ...options, body: formBody(data) });
  }

  /** Sends a form by DELETE; see {@link TestClient.post}. */
  delete(path: string, data: FormFields = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("DELETE", path, { ...options, body: formBody(data) });
  }

  /** Requests JSON. */
  getJson(path: string, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("GET", path, asJson(options));
  }

  /** Sends JSON, and requests JSON. */
  postJson(path: string, data: unknown = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("POST", path, asJson(options, data));
  }

  /** Sends JSON by PUT, and requests JSON. */
  putJson(path: string, data: unknown = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("PUT", path, asJson(options, data));
  }

  /** Sends JSON by PATCH, and requests JSON. */
  patchJson(path: string, data: unknown = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("PATCH", path, asJson(options, data));
  }

  /** Sends JSON by DELETE, and requests JSON. */
  deleteJson(path: string, data: unknown = {}, options: SendOptions = {}): Promise<TestResponse> {
    return this.send("DELETE", path, asJson(options, data));
  }

  /**
   * Sends any request. Redirects are returned like other responses; {@link TestClient.follow} follows them.
   *
   * @param path a path with its query, or an absolute URL, such as the link of a mail
   */
  async send(method: string, path: string, request: SentRequest = {}): Promise<TestResponse> {
    const { application, origin } = this.#visitor;
    const url = new URL(application.router.url(path), origin);
    const headers = new Headers({ accept: PAGE_FIRST, ...this.#headers, ...request.headers });
    if (this.#sendsCsrfToken && !SAFE.has(method.toUpperCase()) && !headers.has("x-csrf-token")) {
      headers.set("x-csrf-token", await this.#visitor.csrfToken());
    }
    const sent = this.#visitor.request(url, { method, body: request.body ?? null }, headers);
    const response = await this.#visitor.application.fetch(sent);
    this.#visitor.take(response.headers.getSetCookie(), url);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return new TestResponse({
      method,
      url,
      response,
      bytes,
      cookies: this.cookies,
      basePath: this.#visitor.application.settings.basePath,
      hasSession: this.#visitor.application.container.has("session"),
      readSession: this.#visitor.sessionReader(),
    });
  }

  /**
   * Fills in a page's form and submits it like a browser: with its action, its method, its hidden fields (including the
   * CSRF token and `__method`), and its first button, unless the values name another one.
   *
   * ```ts
   * await client.submit(page, { email: "ada@example.com", remember: true });
   * await client.submit(page, "#delete");
   * ```
   *
   * @param selector the form: `#id`, `.class`, `[action="/orders"]`; optional if the page has one form, or only one with all
   *   these fields
   * @param values the inputs for the fields, by their names as in the HTML; a checkbox is `true` or `false`
   * @throws `AssertionError` if the page has no such form, or the form has no such field or option
   */
  async submit(page: TestResponse, values?: FieldValues): Promise<TestResponse>;
  async submit(page: TestResponse, selector: string, values?: FieldValues): Promise<TestResponse>;
  async submit(
    page: TestResponse,
    ...[first, second]: [first?: string | FieldValues, second?: FieldValues]
  ): Promise<TestResponse> {
    const [selector, values = {}] = typeof first === "string" ? [first, second] : [null, first];
    const form = chooseForm(page.forms, this.#selector(selector), Object.keys(values), String(page), this.submit);
    const { method, action, entries, isMultipart } = submissionOf(form, values, this.submit);
    const url = new URL(action, page.url);
    if (url.origin !== new URL(page.url).origin) throw failure(`${form} would be sent to another site.`, this.submit);
    const headers: Record<string, string> = { referer: page.url, "sec-fetch-site": "same-origin" };
    if (method === "GET") {
      url.search = String(entriesBody(entries, false));
      return await this.send(method, url.href, { headers });
    }
    const body = entriesBody(entries, isMultipart);
    // Browsers send a form's length. With files, only the platform knows it.
    const length = body instanceof URLSearchParams ? { "content-length": String(Buffer.byteLength(String(body))) } : {};
    return await this.send(method, url.href, { headers: { ...headers, ...length, origin: url.origin }, body });
  }

  /** A form's action contains the path of `APP_URL`, which a selector may omit, like all paths in tests. */
  #selector(selector: string | null): string | null {
    return based(selector, this.#visitor.application.settings.basePath);
  }

  /**
   * Follows a redirect, and any further ones, to the first response that isn't a redirect.
   *
   * @throws `AssertionError` if it leads to another site, or in a circle
   */
  async follow(response: TestResponse): Promise<TestResponse> {
    let current = response;
    for (let count = 0; current.redirectsTo !== null; count++) {
      if (count === MAX_REDIRECTS) throw failure(`It leads from redirect to redirect.\n${current}`, this.follow);
      const target = new URL(current.redirectsTo, current.url);
      if (target.origin !== new URL(current.url).origin) {
        throw failure(`It leads to another site, ${target.origin}.\n${current}`, this.follow);
      }
      // RFC 9110 §15.4: 307 and 308 keep the method, but the body sent with it is no longer available.
      const keepsMethod = (current.status === 307 || current.status === 308) && !SAFE.has(current.method);
      if (keepsMethod)
        throw failure(`It requires the same body to be sent again to ${target.pathname}.\n${current}`, this.follow);
      current = await this.send("GET", target.href);
    }
    return current;
  }

  /**
   * Logs the visitor in as a user. A guard that keeps logins, such as `web`, logs the user in with real cookies. The
   * guard of an API token driver, such as `jwt`, issues a real token. For any other guard, including one for another
   * issuer's tokens, the user is put into each request from then on. No events are emitted, and no mails are sent.
   *
   * Login steps are skipped, so a user with a second factor is logged in without a code. A user whose account is
   * blocked gets no access, as in the application.
   *
   * As after any login without a proof, `password.confirm` requires a proof, unless the options name one:
   *
   * ```ts
   * await client.actingAs(user, { by: "password" });
   * ```
   *
   * @param options the guard's name, or an object; the default guard if none is named
   * @throws `E_UNKNOWN_GUARD`; `E_INVALID_MODEL` if the user isn't of the class of the guard's users
   */
  async actingAs(user: AnyUser, options: string | ActingAsOptions = {}): Promise<this> {
    const { guard = null, by = null } = typeof options === "string" ? { guard: options } : options;
    await this.#visitor.logIn(user, guard, by);
    return this;
  }

  /** Sends an API token with every request, in the header `Authorization` (RFC 6750 §2.1). */
  withToken(token: string): this {
    this.#visitor.token = token;
    return this;
  }

  /**
   * Sets the visitor's preferred language: sends `Accept-Language` with every request, such as `de` or
   * `de-AT, en;q=0.5`.
   */
  withLanguage(language: string): this {
    this.#visitor.language = language;
    return this;
  }

  /** Resets the visitor: removes the cookies, the token and the user. */
  asGuest(): this {
    this.#visitor.forget();
    return this;
  }

  /**
   * Sends a CSRF token of the visitor's session, in the header `X-CSRF-TOKEN`, with every request that could change data,
   * like a script on a page of the application. Forms sent by {@link TestClient.submit} already contain one.
   */
  withCsrfToken(): this {
    this.#sendsCsrfToken = true;
    return this;
  }

  /**
   * The visitor's user for a guard, or `null`. It asks the application, so like a request, it counts as a use of the
   * visitor's login.
   *
   * @param guard the guard's name; default: the default guard
   * @throws `E_UNKNOWN_GUARD`
   */
  user(guard?: string): Promise<RegisteredUser | null> {
    return this.#visitor.user(guard);
  }

  /**
   * The contents of the visitor's session.
   *
   * @throws `E_SESSION` in an application without sessions
   */
  session(): Promise<SessionSnapshot> {
    return this.#visitor.sessionReader()();
  }

  /** Asserts that the visitor is this user for a guard (default: the default guard); see {@link TestClient.user}. */
  async assertAuthenticatedAs(user: AnyUser, guard?: string): Promise<this> {
    const actual = await this.user(guard);
    if (sameUser(actual, user)) return this;
    const message = `Expected the visitor to be ${userName(user)}${by(guard)}, but it is ${userName(actual)}.`;
    throw failure(message, this.assertAuthenticatedAs);
  }

  /** Asserts that the visitor is a guest for a guard (default: the default guard); see {@link TestClient.user}. */
  async assertGuest(guard?: string): Promise<this> {
    const actual = await this.user(guard);
    if (actual === null) return this;
    throw failure(`Expected a guest${by(guard)}, but the visitor is ${userName(actual)}.`, this.assertGuest);
  }
}

/**
 * Creates a client for an application: a visitor without cookies.
 *
 * ```ts
 * const client = createTestClient(application);
 * await client.actingAs(await users.create());
 * (await client.get("/account")).assertStatus(200);
 * ```
 */
export function createTestClient(application: Application, options: TestClientOptions = {}): TestClient {
  return new TestClient(application, options);
}

function asJson({ headers }: SendOptions, ...data: readonly [data?: unknown]): SentRequest {
  if (data.length === 0) return { headers: { accept: JSON_TYPE, ...headers } };
  const body = JSON.stringify(data[0]);
  return { headers: { accept: JSON_TYPE, "content-type": JSON_TYPE, ...headers }, body };
}

function by(guard: string | undefined): string {
  return guard === undefined ? "" : ` by the guard "${guard}"`;
}
