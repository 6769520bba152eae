import { Agent, request as httpRequest } from "node:http";
import type { Application } from "../../src/boot/index.ts";
import type { RegisteredUser } from "../../src/support/index.ts";
import { TestClient } from "../../src/testing/client/test-client.ts";
import { TestResponse } from "../../src/testing/client/test-response.ts";

const PAGE_FIRST = "text/html,application/xhtml+xml,*/*;q=0.8";
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD"]);

type Sent = NonNullable<Parameters<TestClient["send"]>[2]>;

/** A browser that sends its requests over a socket, to any of an application's processes, from its own address. */
export class RemoteBrowser extends TestClient {
  /** The address of the process that gets its requests: `http://127.0.0.1:40123`. */
  process: string;
  readonly #application: Application;
  readonly #address: string;
  readonly #agent = new Agent({ keepAlive: true });
  #isScript = false;
  #bearer: string | null = null;

  constructor(application: Application, process: string, address: string) {
    super(application, { address });
    this.#application = application;
    this.process = process;
    this.#address = address;
  }

  get hasToken(): boolean {
    return this.#bearer !== null;
  }

  override withToken(token: string): this {
    this.#bearer = token;
    return this;
  }

  /** From now on, its requests that change something have a CSRF token, which it gets from `GET /csrf` as a front end does. */
  override withCsrfToken(): this {
    this.#isScript = true;
    return this;
  }

  override async send(method: string, path: string, sent: Sent = {}): Promise<TestResponse> {
    const application = this.#application;
    const url = new URL(path, application.url);
    const headers = new Headers({ accept: PAGE_FIRST, ...sent.headers });
    const isChange = !SAFE.has(method);
    if (isChange && this.#isScript && !headers.has("x-csrf-token") && !headers.has("referer")) {
      headers.set("x-csrf-token", ((await this.getJson("/csrf")).json as { token: string }).token);
      headers.set("origin", url.origin);
      headers.set("sec-fetch-site", "same-origin");
    }
    const cookie = this.cookies.header(url);
    if (cookie !== null) headers.set("cookie", cookie);
    if (this.#bearer !== null) headers.set("authorization", `Bearer ${this.#bearer}`);
    if (sent.body instanceof URLSearchParams) {
      headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
    }
    const response = await this.#exchange(method, url, headers, sent.body == null ? null : String(sent.body));
    for (const text of response.headers.getSetCookie()) this.cookies.store(text, url);
    return new TestResponse({
      ...{ method, url, response, bytes: new Uint8Array(await response.arrayBuffer()), cookies: this.cookies },
      ...{ basePath: "", hasSession: false, readSession: () => Promise.reject(new Error("It is in another process.")) },
    });
  }

  /** Ends the browser's connections. */
  close(): void {
    this.#agent.destroy();
  }

  override user(): Promise<RegisteredUser | null> {
    throw new Error("Ask a page.");
  }

  #exchange(method: string, url: URL, headers: Headers, body: string | null): Promise<Response> {
    const { hostname, port } = new URL(this.process);
    const path = url.pathname + url.search;
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const options = {
      ...{ hostname, port, method, path, agent: this.#agent, localAddress: this.#address },
      headers: { ...Object.fromEntries(headers), ...length, host: url.host },
    };
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(options, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => void chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const received = new Headers();
          for (const [name, values] of Object.entries(incoming.headersDistinct)) {
            for (const value of values ?? []) received.append(name, value);
          }
          const status = incoming.statusCode ?? 0;
          const isEmpty = status === 204 || status === 304;
          resolve(new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers: received }));
        });
      });
      outgoing.on("error", reject).end(body ?? undefined);
    });
  }
}
