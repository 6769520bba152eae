import { request as plainRequest } from "node:http";
import { Agent, request } from "node:https";

/** A response. */
export interface VisitorResponse {
  readonly status: number;
  readonly text: string;
  readonly cookies: readonly string[];
}

/** A browser that talks to a proxy, and keeps its connection and its cookies. */
export class HttpsVisitor {
  readonly #agent: Agent;
  readonly #options: { readonly port: number; readonly host: string; readonly localAddress: string };
  readonly #cookies = new Map<string, string>();

  /**
   * @param port the proxy's port on this machine @param host the requested host @param localAddress the visitor's
   *   address
   */
  constructor(port: number, host: string, localAddress: string) {
    this.#options = { port, host, localAddress };
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** Requests a page, or sends a form. */
  ask(
    path: string,
    form: Readonly<Record<string, string>> | null = null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<VisitorResponse> {
    const { port, host, localAddress } = this.#options;
    const body = form === null ? "" : new URLSearchParams(form).toString();
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...{ host: "127.0.0.1", port, path, localAddress, agent: this.#agent },
          ...{ servername: host, rejectUnauthorized: false, method: form === null ? "GET" : "POST" },
          headers: {
            host,
            cookie: [...this.#cookies].map((pair) => pair.join("=")).join("; "),
            ...(form !== null && {
              "content-type": "application/x-www-form-urlencoded",
              "content-length": String(body.length),
            }),
            ...headers,
          },
        },
        (response) => {
          const cookies = response.headers["set-cookie"] ?? [];
          for (const cookie of cookies) this.#keep(cookie);
          let text = "";
          response.on("data", (chunk: Buffer) => (text += chunk.toString()));
          response.on("error", reject);
          response.on("end", () => resolve({ status: response.statusCode!, text, cookies }));
        },
      );
      sent.on("error", reject).end(body);
    });
  }

  /** Closes the connection. */
  leave(): void {
    this.#agent.destroy();
  }

  #keep(cookie: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    if (name !== undefined && value !== undefined) this.#cookies.set(name, value);
  }
}

/** Sends a request over http, and returns where it redirects. */
export function plainly(
  port: number,
  host: string,
  path = "/login?a=1",
): Promise<readonly [status: number, location: string]> {
  return new Promise((resolve, reject) => {
    const sent = plainRequest({ host: "127.0.0.1", port, path, headers: { host } }, (response) => {
      response.resume();
      resolve([response.statusCode ?? 0, response.headers.location ?? ""]);
    });
    sent.on("error", reject).end();
  });
}
