import { STATUS_CODES } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { withBase } from "../../http/index.ts";
import type { FieldErrors } from "../../support/index.ts";
import { assertHas, type SessionSnapshot } from "../application/session-snapshot.ts";
import { type Assertion, difference, failure, listed, shown } from "../failure.ts";
import { based, chooseForm } from "../html/form-selector.ts";
import { collapsed, pageText } from "../html/html-document.ts";
import { formsOf, type HtmlForm } from "../html/html-forms.ts";
import { asJson, missingPart, NOWHERE, valueAt } from "../matching/json-matching.ts";
import { assertErrors, type ExpectedErrors, errorsInJson, sentencesOf } from "../matching/validation-errors.ts";
import type { CookieJar, StoredCookie } from "./cookie-jar.ts";

/** @internal A client's data about a response. */
export interface TestResponseDetails {
  readonly method: string;
  readonly url: URL;
  readonly response: Response;
  readonly bytes: Uint8Array;
  /** The visitor's current cookies. */
  readonly cookies: CookieJar;
  /** The path of `APP_URL`; `""` if it doesn't have one. */
  readonly basePath: string;
  /** Whether the application has sessions. */
  readonly hasSession: boolean;
  /** Reads the session that belongs to the visitor's current cookies. */
  readonly readSession: () => Promise<SessionSnapshot>;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const EXCERPT_LENGTH = 1000;

/**
 * The response to a request, and assertions on it. Each assertion throws an `AssertionError` that describes the actual
 * response, and otherwise returns the response, so that they can be chained. Assertions on the session are asynchronous:
 * await them.
 *
 * ```ts
 * const page = await client.get("/orders/7");
 * page.assertStatus(200).assertSee("Order 7").assertDontSee("Order 8");
 * ```
 */
export class TestResponse {
  /** The request's method. */
  readonly method: string;
  readonly status: number;
  readonly headers: Headers;
  /** The absolute URL that was requested. */
  readonly url: string;
  readonly bytes: Uint8Array;
  readonly #details: TestResponseDetails;
  #text: string | null = null;

  /** @internal Created by the client. */
  constructor(details: TestResponseDetails) {
    this.#details = details;
    this.method = details.method;
    this.status = details.response.status;
    this.headers = details.response.headers;
    this.url = details.url.href;
    this.bytes = details.bytes;
  }

  /** The body as text. */
  get text(): string {
    this.#text ??= new TextDecoder().decode(this.bytes);
    return this.#text;
  }

  /** The page's visible text, without markup, and with collapsed white space. */
  get pageText(): string {
    return this.#isPage ? pageText(this.text) : collapsed(this.text);
  }

  /**
   * The body, parsed as JSON.
   *
   * @throws `AssertionError` if it is not JSON
   */
  get json(): unknown {
    return this.#parse(this.#parse);
  }

  /**
   * The target of a redirect: path and query, or the absolute URL if it is on another site; `null` if there isn't one.
   */
  get redirectsTo(): string | null {
    const location = REDIRECTS.has(this.status) ? this.headers.get("location") : null;
    return location === null ? null : this.#within(location);
  }

  /** The forms of the page, in order. */
  get forms(): readonly HtmlForm[] {
    return formsOf(this.text);
  }

  /**
   * Returns a form of the page: `page.form("#profile").value("email")`.
   *
   * @param selector `#id`, `.class`, `[action="/orders"]`; optional if the page has one form
   * @throws `AssertionError` if there isn't one, or more than one
   */
  form(selector: string | null = null): HtmlForm {
    return chooseForm(this.forms, based(selector, this.#details.basePath), [], String(this), this.form);
  }

  /** Returns a cookie that the visitor has after this response, or after later ones; `null` if it doesn't exist. */
  cookie(name: string): StoredCookie | null {
    return this.#details.cookies.find(name);
  }

  /** Asserts the status. */
  assertStatus(status: number): this {
    if (this.status === status) return this;
    const hint = this.status === 419 ? "\nSend forms with client.submit(), or call client.withCsrfToken()." : "";
    const message = `Expected the status ${named(status)}, but got ${named(this.status)}.\n${this}${hint}`;
    throw failure(message, this.assertStatus, { actual: this.status, expected: status });
  }

  /**
   * Asserts that the response is a redirect.
   *
   * @param to the target, with its query: a path, an absolute URL, or a regular expression; default: any
   */
  assertRedirect(to?: string | RegExp): this {
    const target = this.redirectsTo;
    if (target === null) throw failure(`Expected a redirect.\n${this}`, this.assertRedirect);
    if (to === undefined) return this;
    const expected = typeof to === "string" ? this.#within(withBase(this.#details.basePath, to)) : to;
    if (typeof expected === "string" ? target === expected : expected.test(target)) return this;
    const message = `Expected a redirect to ${String(expected)}, but it leads to ${target}.\n${this}`;
    throw failure(message, this.assertRedirect, { actual: target, expected });
  }

  /**
   * Asserts that the response has a header.
   *
   * @param value the complete value, or a regular expression; default: any
   */
  assertHeader(name: string, value?: string | RegExp): this {
    const actual = this.headers.get(name);
    if (actual === null) {
      throw failure(
        `The response has no header "${name}", but ${listed(this.headers.keys())}.\n${this}`,
        this.assertHeader,
      );
    }
    if (value === undefined || fits(actual, value)) return this;
    const message = `The header "${name}" is ${shown(actual)} instead of ${String(value)}.\n${this}`;
    throw failure(message, this.assertHeader, { actual, expected: value });
  }

  /** Asserts that the response lacks a header. */
  assertHeaderMissing(name: string): this {
    const actual = this.headers.get(name);
    if (actual === null) return this;
    throw failure(`The response has the header "${name}": ${shown(actual)}.\n${this}`, this.assertHeaderMissing);
  }

  /** Asserts that the body is exactly this JSON. Models and dates are compared as their JSON. */
  assertJson(expected: unknown): this {
    const [actual, wanted] = [this.#parse(this.assertJson), asJson(expected)];
    if (isDeepStrictEqual(actual, wanted)) return this;
    const message = `The JSON is not what was expected.\n${difference(actual, wanted)}\n${this}`;
    throw failure(message, this.assertJson, { actual, expected: wanted });
  }

  /** Asserts that the body is JSON that contains this: objects may have more members, lists may not. */
  assertJsonContains(expected: unknown): this {
    const actual = this.#parse(this.assertJsonContains);
    const problem = missingPart(actual, asJson(expected));
    if (problem === null) return this;
    throw failure(`The JSON lacks an expected part. ${problem}\n${this}`, this.assertJsonContains, {
      actual,
      expected,
    });
  }

  /**
   * Asserts the value at a path in the JSON.
   *
   * @param path `data.0.name`, or `data.*.name` for the list of all names
   * @param expected the value; default: any
   */
  assertJsonPath(path: string, ...expected: readonly [expected?: unknown]): this {
    const actual = valueAt(this.#parse(this.assertJsonPath), path);
    if (actual === NOWHERE) {
      throw failure(`The JSON has nothing at "${path}".\n${this}`, this.assertJsonPath);
    }
    if (expected.length === 0) return this;
    const wanted = asJson(expected[0]);
    if (isDeepStrictEqual(actual, wanted)) return this;
    const message = `The JSON has ${shown(actual)} at "${path}" instead of ${shown(wanted)}.\n${this}`;
    throw failure(message, this.assertJsonPath, { actual, expected: wanted });
  }

  /** Asserts that these texts are visible on the page, with white space collapsed. */
  assertSee(...texts: readonly (string | RegExp)[]): this {
    const seen = this.pageText;
    const missing = texts.find((text) => !holds(seen, text));
    if (missing === undefined) return this;
    throw failure(`The page does not show ${quoted(missing)}.\n${this}`, this.assertSee);
  }

  /** Asserts that none of these texts is visible on the page. */
  assertDontSee(...texts: readonly (string | RegExp)[]): this {
    const seen = this.pageText;
    const found = texts.find((text) => holds(seen, text));
    if (found === undefined) return this;
    throw failure(`The page shows ${quoted(found)}.\n${this}`, this.assertDontSee);
  }

  /**
   * Asserts that the visitor's session has a value, possibly flashed, after this response.
   *
   * @param expected the value; default: any
   */
  async assertSessionHas(key: string, ...expected: readonly [expected?: unknown]): Promise<this> {
    assertHas(await this.#details.readSession(), key, expected, this.assertSessionHas);
    return this;
  }

  /** Asserts that the visitor's session has nothing under a key after this response. */
  async assertSessionMissing(key: string): Promise<this> {
    const { values } = await this.#details.readSession();
    if (!(key in values)) return this;
    throw failure(`The session has ${shown(values[key])} under "${key}".`, this.assertSessionMissing);
  }

  /**
   * Asserts that input was refused, either with a problem document, or with a redirect back to the form and messages in
   * the session. For a form, call it on the redirect itself, because the page that shows the messages removes them.
   *
   * ```ts
   * const form = await client.get("/register");
   * const response = await client.submit(form, { email: "ada@example.com", password: "short" });
   * await response.assertValidationErrors({ name: "", password: /at least 8/ });
   * await response.assertValidationErrors({ password: { rule: "password.tooShort", params: { min: 8 } } });
   * ```
   */
  async assertValidationErrors(expected: ExpectedErrors): Promise<this> {
    assertErrors(await this.#validationErrors(), expected, String(this), this.assertValidationErrors);
    return this;
  }

  /** Asserts that no input was refused. */
  async assertNoValidationErrors(): Promise<this> {
    const errors = await this.#validationErrors();
    if (Object.keys(errors).length === 0) return this;
    throw failure(`Input was refused: ${shown(sentencesOf(errors))}.\n${this}`, this.assertNoValidationErrors);
  }

  /** Describes the request and the response for messages. */
  toString(): string {
    const { pathname, search } = new URL(this.url);
    const location = this.headers.get("location");
    const shownBody = this.#isPage ? this.pageText : this.text;
    const excerpt = shownBody.length > EXCERPT_LENGTH ? `${shownBody.slice(0, EXCERPT_LENGTH)}…` : shownBody;
    const lines = [
      `${this.method} ${pathname}${search} returned ${named(this.status)}`,
      ...(location === null ? [] : [`location: ${location}`]),
      ...(excerpt === "" ? [] : [excerpt]),
    ];
    return lines.join("\n  ");
  }

  #parse(assertion: Assertion): unknown {
    try {
      return JSON.parse(this.text) as unknown;
    } catch {
      throw failure(`The body is not JSON.\n${this}`, assertion);
    }
  }

  async #validationErrors(): Promise<Readonly<FieldErrors>> {
    if (this.headers.get("content-type")?.includes("json") === true) {
      return errorsInJson(this.json);
    }
    return this.#details.hasSession ? (await this.#details.readSession()).errors : {};
  }

  get #isPage(): boolean {
    return this.headers.get("content-type")?.includes("html") ?? false;
  }

  #within(location: string): string {
    const { origin } = new URL(this.url);
    const target = new URL(location, this.url);
    return target.origin === origin ? `${target.pathname}${target.search}${target.hash}` : target.href;
  }
}

function named(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? (status === 419 ? "Page Expired" : "")}`.trimEnd();
}

function fits(value: string, expected: string | RegExp): boolean {
  return typeof expected === "string" ? value === expected : expected.test(value);
}

function holds(seen: string, text: string | RegExp): boolean {
  return typeof text === "string" ? seen.includes(collapsed(text)) : text.test(seen);
}

function quoted(text: string | RegExp): string {
  return typeof text === "string" ? `"${collapsed(text)}"` : String(text);
}
