import type { Application } from "../../src/boot/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import type { MiddlewareEntry, RouteMiddleware } from "../../src/kernel/index.ts";
import {
  createSessionDataTable,
  SessionMiddleware,
  SessionProvider,
  VerifyCsrfToken,
} from "../../src/session/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { type BuildOptions, buildApplication, ownDatabases } from "./build-application.ts";
import type { Contents } from "./services.ts";
import { folderWith } from "./temporary-folder.ts";

/** How a test's application differs from the default. */
export interface SessionApplicationOptions
  extends Pick<BuildOptions, "routes" | "httpMiddleware" | "environment" | "logged"> {
  /** `SESSION`. */
  readonly session?: object;
  /** Languages that are offered besides English. */
  readonly languages?: readonly string[];
  /** Templates by name. */
  readonly views?: Readonly<Record<string, string>>;
  /** The stack `web`, if it is not the default one. */
  readonly web?: readonly MiddlewareEntry[];
  /** Middleware by name in addition to the stack. */
  readonly named?: RouteMiddleware;
}

/** An application with sessions and, by default, CSRF tokens on its stack `web`; removed when the test is finished. */
export async function sessionApplication(options: SessionApplicationOptions): Promise<Application> {
  const { session = {}, languages = [], views = {}, web = [SessionMiddleware, VerifyCsrfToken] } = options;
  const usesDatabase = "store" in session && session.store === "database";
  return buildApplication({
    ...options,
    root: folderWith(Object.fromEntries(Object.entries(views).map(([name, text]) => [`views/${name}.edge`, text]))),
    middleware: { web, api: [], ...options.named },
    providers: [
      ...(usesDatabase ? [DatabaseProvider] : []),
      ...(options.views === undefined ? [] : [ViewProvider]),
      SessionProvider,
    ],
    config: { app: { APP: { languages } }, session: { SESSION: session } },
    ...(usesDatabase && { databases: await ownDatabases({ contents: SESSION_DATA }) }),
    environment: { APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi", ...options.environment },
  });
}

const SESSION_DATA: Contents = { name: "session-data", fill: ({ kysely }) => createSessionDataTable(kysely) };

/** A response. */
export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The names of the cookies that the response sets or deletes. */
  readonly cookies: readonly string[];
}

/** A request's options. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly method?: string;
  readonly body?: string | URLSearchParams | FormData;
}

/** Handles cookies, `Referer` and `Sec-Fetch-Site` like a browser. */
export class Browser {
  readonly #application: Application;
  readonly #origin: string;
  /** Its cookies, by name. */
  readonly cookies: Map<string, string> = new Map();
  /** The current page. */
  page: Page | null = null;
  #location: string | null = null;

  constructor(application: Application, origin = "http://localhost") {
    this.#application = application;
    this.#origin = origin;
  }

  /** The token of the form on the current page. */
  get token(): string {
    return /name="__token" value="([^"]*)"/.exec(this.page?.text ?? "")?.[1] ?? "";
  }

  /** Opens a page, and follows redirects. */
  async open(path: string): Promise<Page> {
    const page = await this.send(path);
    this.page = page;
    this.#location = path;
    const target = page.headers.get("location");
    return target === null ? page : this.open(target);
  }

  /** Sends the form of the current page, including its token, and follows redirects. */
  async submit(path: string, fields: Readonly<Record<string, string>> = {}): Promise<Page> {
    const answer = await this.post(path, { __token: this.token, ...fields });
    const target = answer.headers.get("location");
    return target === null ? answer : this.open(target);
  }

  /** Sends a form unchanged. */
  post(path: string, fields: Readonly<Record<string, string>> = {}, sent: Sent = {}): Promise<Page> {
    return this.send(path, { method: "POST", body: new URLSearchParams(fields), ...sent });
  }

  /** Sends one request. A header of `null` is left out. */
  async send(path: string, { headers = {}, ...rest }: Sent = {}): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const all = {
      "sec-fetch-site": "same-origin",
      referer: this.#location === null ? null : this.#origin + this.#location,
      cookie: cookie === "" ? null : cookie,
      accept: "text/html",
      ...headers,
    };
    const sent = Object.entries(all).filter((header): header is [string, string] => header[1] !== null);
    const response = await this.#application.fetch(new Request(this.#origin + path, { ...rest, headers: sent }));
    const set = response.headers.getSetCookie();
    for (const text of set) this.#store(text);
    const cookies = set.map((text) => text.slice(0, text.indexOf("=")));
    return { status: response.status, headers: response.headers, text: await response.text(), cookies };
  }

  #store(text: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
    if (/;\s*max-age=0(;|$)/i.test(text)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
