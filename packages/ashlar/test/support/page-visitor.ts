import { request } from "node:http";
import { type Filling, fillIn } from "./page-form.ts";

/** The headers of a navigation. `fetch` would also say that a script sent the request. */
const PAGE_FIRST = "text/html,application/xhtml+xml,*/*;q=0.8";

/** A page, and its path after redirects. */
export interface Page {
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
}

/** A browser without a window: keeps cookies, follows redirects, and fills in forms, over a real socket. */
export class PageVisitor {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #cookies = new Map<string, string>();
  readonly #lifetimes = new Map<string, number | null>();

  /**
   * @param url the application's address
   * @param headers sent with every request, in addition to cookies
   */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /**
   * How long the browser keeps a cookie, in seconds, or `null` if the cookie ends with the browser or doesn't exist.
   */
  lifetimeOf(name: string): number | null {
    return this.#lifetimes.get(name) ?? null;
  }

  /** @param more headers for this request only */
  async open(path: string, init: RequestInit = {}, more: Readonly<Record<string, string>> = {}): Promise<Page> {
    const cookie = [...this.#cookies].map((pair) => pair.join("=")).join("; ");
    const headers = { accept: PAGE_FIRST, ...this.#headers, ...more, cookie };
    const response = await navigate(new URL(path, this.#url), init, headers);
    for (const text of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      this.#cookies.set(name, value);
      const [, seconds] = /; Max-Age=(\d+)/i.exec(text) ?? [];
      this.#lifetimes.set(name, seconds === undefined ? null : Number(seconds));
    }
    const target = response.headers.get("location");
    if (target !== null) return this.open(target);
    return { path, ...response };
  }

  /**
   * Fills in a page's form by its labels, and presses its button.
   *
   * @param button the button's text
   */
  async press(page: Page, button: string, filling: Filling = {}): Promise<Page> {
    const { action, entries } = fillIn(page.html, filling, button);
    const body = new URLSearchParams(entries.map(([name, value]) => [name, String(value)]));
    return await this.open(action === "" ? page.path : action, { method: "POST", body });
  }

  /** Posts values that no form on the page would, with the page's CSRF token. */
  async send(path: string, page: Page, fields: Record<string, string>): Promise<Page> {
    const [, token = ""] = /name="__token" value="([^"]+)"/.exec(page.html) ?? [];
    return this.open(path, { method: "POST", body: new URLSearchParams({ __token: token, ...fields }) });
  }

  async register(): Promise<this> {
    const password = "a password of hers";
    await this.press(await this.open("/register"), "Register", {
      ...{ Name: "Ada <b>", "Email address": "ada@example.com" },
      ...{ Password: password, "Confirm password": password },
    });
    return this;
  }

  /** Logs in, with any additional fields of the login page. */
  async logIn(page: Page, email: string, password: string, filling: Filling = {}): Promise<Page> {
    return await this.press(page, "Log in", { "Email address": email, Password: password, ...filling });
  }
}

/** Sends a request with only these headers and the body's. */
async function navigate(
  url: URL,
  { method = "GET", body = null }: RequestInit,
  headers: Readonly<Record<string, string>>,
): Promise<Omit<Page, "path">> {
  const bytes = Buffer.from(body === null ? "" : String(body));
  const type = body instanceof URLSearchParams ? "application/x-www-form-urlencoded" : "text/plain;charset=UTF-8";
  const content = body === null ? {} : { "content-type": type, "content-length": String(bytes.length) };
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...content, ...headers } }, (response) => {
      let html = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (html += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const pairs = Object.entries(response.headersDistinct).flatMap(([name, values]) =>
          (values ?? []).map((value): [string, string] => [name, value]),
        );
        resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), html });
      });
    });
    sent.on("error", reject).end(bytes);
  });
}
