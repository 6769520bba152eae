import { request } from "node:http";
import { text } from "node:stream/consumers";

/** A response. */
export interface SocketResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** How a visitor reaches the application. */
export interface SocketVisitorOptions {
  /** Its own address, one of this machine's, such as `127.0.0.2`. */
  readonly from?: string;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long a request may receive nothing before it fails; default: unlimited. */
  readonly timeoutMs?: number;
}

/** A client with its own address that keeps cookies, over real sockets. It requests JSON, and sends forms. */
export class SocketVisitor {
  readonly cookies: Map<string, string> = new Map();
  readonly #url: string;
  readonly #options: SocketVisitorOptions;

  /** @param url the application's address */
  constructor(url: string, options: SocketVisitorOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  get(path: string): Promise<SocketResponse> {
    return this.#send("GET", path, null);
  }

  /** Calls the API with a token. */
  getWithToken(path: string, token: string): Promise<SocketResponse> {
    return this.#send("GET", path, null, { authorization: `Bearer ${token}` });
  }

  /** Opens a page, as a browser would. */
  page(path: string): Promise<SocketResponse> {
    return this.#send("GET", path, null, { accept: "text/html" });
  }

  /** Posts a form without opening a page first, like an API client. */
  post(path: string, fields: Readonly<Record<string, string>>): Promise<SocketResponse> {
    return this.#send("POST", path, new URLSearchParams(fields).toString());
  }

  /** Posts a form like a browser, and so gets a page or a redirect. */
  postForm(path: string, fields: Readonly<Record<string, string>>): Promise<SocketResponse> {
    return this.#send("POST", path, new URLSearchParams(fields).toString(), { accept: "text/html" });
  }

  /** Opens the page of a form and posts it with the page's CSRF token. */
  async submit(path: string, fields: Readonly<Record<string, string>>, page: string = path): Promise<SocketResponse> {
    const { body } = await this.page(page);
    const [, token = ""] = /name="__token" value="([^"]+)"/.exec(body) ?? [];
    return this.post(path, { __token: token, ...fields });
  }

  #send(
    method: string,
    path: string,
    body: string | null,
    more: Readonly<Record<string, string>> = {},
  ): Promise<SocketResponse> {
    const cookie = [...this.cookies].map((pair) => pair.join("=")).join("; ");
    const headers = {
      accept: "application/json",
      ...(cookie === "" ? {} : { cookie }),
      ...(body === null ? {} : { "content-type": "application/x-www-form-urlencoded" }),
      ...this.#options.headers,
      ...more,
    };
    const { promise, resolve, reject } = Promise.withResolvers<SocketResponse>();
    const { from, timeoutMs = 0 } = this.#options;
    const options = { method, headers, agent: false, ...(from === undefined ? {} : { localAddress: from }) };
    const sent = request(new URL(path, this.#url.replace("localhost", "127.0.0.1")), options, (answer) => {
      for (const one of answer.headers["set-cookie"] ?? []) this.#take(one);
      const whole = (content: string) =>
        resolve({ status: answer.statusCode!, headers: answer.headers, body: content });
      text(answer).then(whole, reject);
    });
    sent.setTimeout(timeoutMs, () => sent.destroy(new Error("timeout")));
    sent.on("error", reject).end(body ?? undefined);
    return promise;
  }

  #take(setCookie: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? [];
    if (value === "") this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
