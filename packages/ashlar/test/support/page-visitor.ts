/** A page, at the path where redirects led. */
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
   * @param headers of every request, besides the cookies
   */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** How long the browser keeps a cookie, in seconds; `null` for one that ends with the browser, or that it doesn't have. */
  lifetimeOf(name: string): number | null {
    return this.#lifetimes.get(name) ?? null;
  }

  /** @param more headers of this request alone */
  async open(path: string, init: RequestInit = {}, more: Readonly<Record<string, string>> = {}): Promise<Page> {
    const cookie = [...this.#cookies].map((pair) => pair.join("=")).join("; ");
    const headers = { ...this.#headers, ...more, cookie };
    const response = await fetch(new URL(path, this.#url), { redirect: "manual", ...init, headers });
    for (const text of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      this.#cookies.set(name, value);
      const [, seconds] = /; Max-Age=(\d+)/i.exec(text) ?? [];
      this.#lifetimes.set(name, seconds === undefined ? null : Number(seconds));
    }
    const target = response.headers.get("location");
    if (target !== null) return this.open(target);
    return { path, status: response.status, headers: response.headers, html: await response.text() };
  }

  /** Posts a form with the CSRF token of a page. */
  async send(path: string, page: Page, fields: Record<string, string>): Promise<Page> {
    const [, token = ""] = /name="__token" value="([^"]+)"/.exec(page.html) ?? [];
    return this.open(path, { method: "POST", body: new URLSearchParams({ __token: token, ...fields }) });
  }

  async register(): Promise<this> {
    const password = "a password of hers";
    const person = { name: "Ada <b>", email: "ada@example.com", password, password_confirmation: password };
    await this.send("/register", await this.open("/register"), person);
    return this;
  }
}
