import type { Application } from "../../src/boot/index.ts";

export interface BrowserOptions {
  readonly userAgent?: string;
  /** The address of the socket. */
  readonly ip?: string;
  /** Where requests are sent; default: `http://localhost`. */
  readonly origin?: string;
}

/** A response. */
export interface Page {
  readonly status: number;
  readonly headers: Headers;
  /** The cookies that were set, as sent. */
  readonly setCookies: readonly string[];
  /** The body; parsed if it is JSON. */
  readonly body: unknown;
}

/** Handles cookies like a browser: sends them, stores new ones, and drops expired ones. */
export class Browser {
  readonly cookies: Map<string, string> = new Map();
  readonly #application: Application;
  readonly #options: BrowserOptions;

  constructor(application: Application, options: BrowserOptions = {}) {
    this.#application = application;
    this.#options = options;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.send(path, { headers });
  }

  head(path: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.send(path, { method: "HEAD", headers });
  }

  post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Page> {
    const type = { "content-type": "application/json" };
    return this.send(path, { method: "POST", headers: { ...type, ...headers }, body: JSON.stringify(body) });
  }

  /** A browser with a copy of the cookies, such as a second tab, or a thief's. */
  copy(options: BrowserOptions = this.#options): Browser {
    const copy = new Browser(this.#application, options);
    for (const [name, value] of this.cookies) copy.cookies.set(name, value);
    return copy;
  }

  /** Sends any request, and stores the cookies of the response. */
  async send(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Page> {
    const { userAgent, ip, origin = "http://localhost" } = this.#options;
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = {
      ...(cookie === "" ? {} : { cookie }),
      ...(userAgent === undefined ? {} : { "user-agent": userAgent }),
      ...init.headers,
    };
    const request = new Request(new URL(path, origin), { ...init, headers });
    if (ip !== undefined) Object.defineProperty(request, "ip", { value: ip });
    const response = await this.#application.fetch(request);
    const setCookies = response.headers.getSetCookie();
    for (const one of setCookies) this.#take(one);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") ?? false;
    return { status: response.status, headers: response.headers, setCookies, body: isJson ? JSON.parse(text) : text };
  }

  #take(setCookie: string): void {
    const [pair = "", ...attributes] = setCookie.split("; ");
    const equals = pair.indexOf("=");
    const name = pair.slice(0, equals);
    if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(equals + 1));
  }
}
