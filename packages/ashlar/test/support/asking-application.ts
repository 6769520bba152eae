import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { type Application, type HttpContext, type MiddlewareEntry, Route } from "../../src/public/index.ts";
import { buildApplication } from "./build-application.ts";

/** A test's question about a request, evaluated in a handler. The result must be representable in JSON. */
export type Question = (context: HttpContext) => unknown;

/** A request, and settings of the application that handles it. */
export interface AskedRequest {
  /** A path with its query, or an absolute URL; default: `/`. */
  readonly url?: string;
  /** Default: `POST` if there is a body, otherwise `GET`. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is text or a form. */
  readonly body?: unknown;
  /** The address of the socket. */
  readonly ip?: string;
  /** The pattern of the route; default: one for every path. */
  readonly route?: string;
  /** `APP.trustedProxies`; default: no proxies. */
  readonly trustedProxies?: readonly string[];
  /** The middleware of the kernel; default: none. */
  readonly httpMiddleware?: readonly MiddlewareEntry[];
}

/** An application whose only route returns the result of a question about each request, whatever its method. */
export function askingApplication(question: Question, asked: AskedRequest = {}): Promise<Application> {
  const { httpMiddleware = [], trustedProxies = [], route = "/?path:any" } = asked;
  return buildApplication({
    httpMiddleware,
    routes: [Route.any(route, async (context) => ({ answer: await question(context) }))],
    config: { app: { APP: { trustedProxies } } },
  });
}

/** Sends a request through a complete application, and returns the platform's response. */
export async function respondTo(question: Question, asked: AskedRequest = {}): Promise<Response> {
  return await (await askingApplication(question, asked)).fetch(requestOf(asked));
}

/**
 * Sends a request through a complete application, and returns the result of the question; throws if the response is
 * another one.
 */
export async function ask(question: Question, asked: AskedRequest = {}): Promise<unknown> {
  const response = await respondTo(question, asked);
  return answerOf(response.status, await response.text());
}

/**
 * The same over a socket, for client addresses and for requests that the platform's `Request` can't express, such as a
 * `GET` with a body.
 */
export async function askOverSocket(question: Question, asked: AskedRequest = {}): Promise<unknown> {
  const application = await askingApplication(question, asked);
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const { method = "GET", url = "/", headers = {}, body } = asked;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path: url, method, headers }, resolve);
    sent.on("error", reject).end(body);
  });
  return answerOf(response.statusCode ?? 0, await text(response));
}

function requestOf({ url = "/", method, headers = {}, body, ip }: AskedRequest): Request {
  const isRaw = typeof body === "string" || body instanceof URLSearchParams || body instanceof FormData;
  const request = new Request(new URL(url, "http://localhost"), {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(body === undefined || isRaw ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  });
  // The server sets the address of the socket here.
  if (ip !== undefined) Object.defineProperty(request, "ip", { value: ip });
  return request;
}

function answerOf(status: number, body: string): unknown {
  if (status !== 200) throw new Error(`The application answered ${status}: ${body}`);
  return (JSON.parse(body) as { readonly answer: unknown }).answer;
}
