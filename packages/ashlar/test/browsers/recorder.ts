// Pages that make a browser send requests, and the headers that it sends with them.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { makeCertificate } from "../support/certificate.ts";
import { makeFolder } from "../support/temporary-folder.ts";

/** A request as it arrived. */
export interface RecordedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a page does, to which URL, under which policy. */
export interface CausingPage {
  readonly does: "link" | "form" | "sandboxed form" | "load" | "speculate" | "type";
  readonly url: string;
  readonly policy: string;
}

/** What is sent by a page that loads everything at once, by the end of its path. */
export const LOADS = {
  "-image": "image",
  "-prefetch": "prefetch",
  "-get": "fetch GET",
  "-post": "fetch POST",
  "-no-cors": "fetch POST without CORS",
} as const;

const BODIES: Readonly<Record<CausingPage["does"], (url: string) => string>> = {
  link: (url) => `<a href="${url}">Go</a>`,
  form: (url) => `<form method="post" action="${url}"><button>Go</button></form>`,
  "sandboxed form": (url) =>
    `<iframe sandbox="allow-forms" srcdoc='<form method="post" action="${url}"><button>Go</button></form>'></iframe>`,
  load: (url) => `<img src="${url}-image" alt=""><link rel="prefetch" href="${url}-prefetch"><script>
    const send = (end, options) => fetch("${url}" + end, options).catch(() => {});
    send("-get");
    send("-post", { method: "POST", body: new URLSearchParams({ a: 1 }) });
    send("-no-cors", { method: "POST", mode: "no-cors", body: new URLSearchParams({ a: 1 }) });
  </script>`,
  speculate: (url) => {
    const rule = (end: string) => [{ source: "list", urls: [`${url}${end}`], eagerness: "immediate" }];
    return `<script type="speculationrules">${JSON.stringify({ prefetch: rule("-prefetch"), prerender: rule("-prerender") })}</script>`;
  },
  type: (url) =>
    `<form method="post" action="${url}"><label>Address <input name="address" type="email"></label>
    <label>Text <input name="text"></label><button>Go</button></form>`,
};

/** Two servers, one with a certificate that no client trusts, that record what is asked of `/sent/…`. */
export class Recorder {
  readonly #servers: readonly Server[];
  readonly #recorded = new Map<string, RecordedRequest>();
  readonly #waiting = new Map<string, () => void>();

  private constructor(servers: readonly Server[]) {
    this.#servers = servers;
    for (const server of servers) server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<Recorder> {
    const { folder, remove } = makeFolder({});
    const { key, chain } = makeCertificate(folder, "shop.example");
    const files = { key: await readFile(key), cert: await readFile(chain) };
    remove();
    const servers = [createServer(), createSecureServer(files)];
    for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
    return new Recorder(servers);
  }

  close(): void {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  /** An origin with the port of its server. */
  at(origin: string): string {
    const server = this.#servers[origin.startsWith("https:") ? 1 : 0]!;
    return `${origin}:${(server.address() as AddressInfo).port}`;
  }

  /** Reports whether a path was requested. */
  has(path: string): boolean {
    return this.#recorded.has(path);
  }

  /** Waits for a request of a path, and forgets it. */
  async next(path: string): Promise<RecordedRequest> {
    if (!this.#recorded.has(path)) await new Promise<void>((resolve) => this.#waiting.set(path, resolve));
    const recorded = this.#recorded.get(path)!;
    this.#recorded.delete(path);
    return recorded;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (pathname.startsWith("/sent/")) {
      this.#recorded.set(pathname, { method: request.method ?? "", headers: request.headers, body });
      this.#waiting.get(pathname)?.();
    }
    const { does, url, policy } = Object.fromEntries(searchParams) as Partial<CausingPage>;
    const headers: Record<string, string> = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    if (policy !== undefined) headers["referrer-policy"] = policy;
    const content = does === undefined || url === undefined ? "" : BODIES[does](url);
    response.writeHead(200, headers);
    response.end(`<!doctype html><title>A page</title><link rel="icon" href="data:,">${content}`);
  }
}
