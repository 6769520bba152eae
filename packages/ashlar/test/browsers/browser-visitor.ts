import { request } from "node:http";
import type { FormEntry } from "../../src/testing/html/form-filling.ts";
import { type Filling, fillIn } from "../support/page-form.ts";
import {
  type BrowserName,
  type CausedRequest,
  headersOf,
  KINDS,
  type ReferrerPolicy,
  typedText,
} from "./what-browsers-send.ts";

/** A response as it arrived. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The page in a browser's window. */
export interface OpenPage extends Answer {
  readonly url: URL;
}

/** What a request contains besides the browser's own headers. */
export interface Content {
  readonly entries?: readonly FormEntry[];
  readonly json?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where an application is, and where it listens. */
export interface Place {
  readonly origin: string;
  readonly port: number;
}

const MOST_REDIRECTS = 5;

/**
 * A browser from the table, behind a proxy of the application. The table contains everything that it sends over the
 * socket.
 */
export class BrowserVisitor {
  readonly #browser: BrowserName;
  readonly #place: Place;
  readonly #address: string;
  readonly #cookies = new Map<string, string>();
  #page: OpenPage | null = null;

  /** @param address the visitor's, as the proxy reports it */
  constructor(browser: BrowserName, place: Place, address: string) {
    this.#browser = browser;
    this.#place = place;
    this.#address = address;
  }

  get page(): OpenPage {
    if (this.#page === null) throw new Error("No page is open.");
    return this.#page;
  }

  /** The path where the last redirect led. */
  get path(): string {
    return `${this.page.url.pathname}${this.page.url.search}`;
  }

  /** Types a URL, or its path. */
  async type(path: string): Promise<this> {
    return await this.#navigate({ kind: "typed URL", url: new URL(path, this.#place.origin), page: null });
  }

  /** Follows a link of the open page, or one on another site's page, such as a mailbox's. */
  async follow(path: string, page: URL = this.page.url): Promise<this> {
    return await this.#navigate({ ...this.#from(page), kind: "link", url: new URL(path, this.#place.origin) });
  }

  async reload(): Promise<this> {
    return await this.#navigate({ kind: "reload", url: this.page.url, page: null });
  }

  /** Fills in a form of the open page, by its labels, and presses its button. */
  async press(button: string, filling: Filling = {}): Promise<this> {
    const typed = (type: string, text: string) => typedText(this.#browser, type, text);
    const { action, entries } = fillIn(this.page.text, filling, button, typed);
    const url = new URL(action, this.page.url);
    return await this.#navigate({ ...this.#from(this.page.url), kind: "form", url }, { entries });
  }

  /** Loads something for the open page, or sends something from another page. The window stays as it is. */
  async load(
    kind: CausedRequest["kind"],
    path: string,
    content: Content = {},
    page: URL = this.page.url,
  ): Promise<Answer> {
    return await this.send({ ...this.#from(page), kind, url: new URL(path, this.#place.origin) }, content);
  }

  /**
   * Sends a request with the visitor's cookies, whatever it is, and keeps those of the response.
   *
   * @param browser that says what the request is; default: the visitor's
   */
  async send(caused: CausedRequest, content: Content = {}, browser: BrowserName = this.#browser): Promise<Answer> {
    const { method } = KINDS[caused.kind];
    const headers = { ...headersOf(browser, caused), ...content.headers };
    const answer = await this.#exchange(method, caused.url, headers, content);
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/; Max-Age=0/i.test(cookie)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return answer;
  }

  #from(page: URL): Pick<CausedRequest, "page" | "policy"> {
    if (page !== this.#page?.url) return { page };
    return { page, policy: (this.page.headers.get("referrer-policy") ?? undefined) as ReferrerPolicy };
  }

  async #navigate(caused: CausedRequest, content: Content = {}): Promise<this> {
    let [current, answer] = [caused, await this.send(caused, content)];
    for (let count = 0; answer.headers.has("location"); count++) {
      if (count === MOST_REDIRECTS) throw new Error(`${current.url} leads from redirect to redirect.`);
      const kind = current.kind === "form" ? "link" : current.kind;
      current = { ...current, kind, url: new URL(answer.headers.get("location")!, current.url) };
      answer = await this.send(current);
    }
    this.#page = { ...answer, url: current.url };
    return this;
  }

  #exchange(method: string, url: URL, said: Readonly<Record<string, string>>, content: Content): Promise<Answer> {
    const { entries, json } = content;
    const form = entries?.map(([name, value]): [string, string] => [name, String(value)]);
    const body = json === undefined ? String(new URLSearchParams(form)) : JSON.stringify(json);
    const headers: Record<string, string> = {
      host: url.host,
      "x-forwarded-for": this.#address,
      "x-forwarded-proto": url.protocol.slice(0, -1),
      cookie: [...this.#cookies].map((pair) => pair.join("=")).join("; "),
      ...said,
    };
    if (method === "POST") {
      headers["content-type"] ??= json === undefined ? "application/x-www-form-urlencoded" : "application/json";
      headers["content-length"] = String(Buffer.byteLength(body));
    }
    const path = `${url.pathname}${url.search}`;
    return new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port: this.#place.port, method, path, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("error", reject);
        response.on("end", () => {
          const pairs = Object.entries(response.headersDistinct).flatMap(([name, values]) =>
            (values ?? []).map((value): [string, string] => [name, value]),
          );
          resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), text });
        });
      });
      sent.on("error", reject).end(method === "POST" ? body : undefined);
    });
  }
}
