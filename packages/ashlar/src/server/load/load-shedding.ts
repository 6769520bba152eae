import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OriginHeaders } from "../../http/index.ts";
import { type BusyPages, type Logger, RefusalLog } from "../../kernel/index.ts";
import { lingerIfUnread } from "../connections/lingering-close.ts";
import type { NodeListener } from "../handlers/node-handler.ts";
import type { CompleteHealthSettings } from "../health-settings.ts";
import type { HeldRefusals } from "../responses/held-refusals.ts";
import { Refusals } from "./refusal.ts";
import { RequestQueue } from "./request-queue.ts";

/** Which requests to refuse, and how. */
export interface Shedding {
  /** How long a request may wait, in milliseconds; see `ControlledDelay`. */
  readonly maxMs: number;
  /** The paths of health checks, which are never refused, because a busy process must not be taken for a dead one. */
  readonly neverRefused: readonly string[];
  /** The CORS headers of refusals. */
  readonly origins: OriginHeaders;
  /** The pages for visitors; `null` for a line of text. */
  readonly pages: BusyPages | null;
  /** Sends the responses to refused requests. */
  readonly held: HeldRefusals;
  /** Called for each refused request. */
  readonly refused: () => void;
}

/** A listener that refuses requests that have waited too long. */
export interface SheddingListener {
  readonly listener: NodeListener;
  /** Call it for each new connection; see {@link RequestQueue.connected}. */
  readonly connected: (socket: Socket, acceptedAt: number | null) => void;
  readonly stop: () => void;
}

/**
 * Makes a listener refuse requests with 503 and `Retry-After` under overload, before any other code handles them. A
 * refusal costs a fraction of a response, so accepted requests get their responses in time. The beginning and the end
 * of an overload are logged, but not the refused requests.
 */
export function sheddingListener(
  handle: NodeListener,
  { maxMs, neverRefused, origins, pages, held, refused }: Shedding,
  logger: Logger,
): SheddingListener {
  const log = new RefusalLog(logger, overloadWords(maxMs));
  const refusals = new Refusals(origins, pages);
  const refuse = (message: IncomingMessage, response: ServerResponse, waits: boolean, ageMs: number): void => {
    const { method } = message;
    const {
      accept,
      "accept-language": language,
      origin,
      "access-control-request-method": requestedMethod,
    } = message.headers;
    const { status, headers, body } = refusals.of({ method, accept, language, origin, requestedMethod });
    const send = (): void => {
      lingerIfUnread(message, response, waits);
      response.writeHead(status, headers).end(body);
    };
    // A preflight response is sent at once, because the actual request follows it.
    if (status !== 503) {
      send();
      return;
    }
    log.count(ageMs);
    refused();
    held.add(send);
  };
  const queue = new RequestQueue({ maxMs, handle, refuse });
  const listener: NodeListener = (message, response, waits = false) => {
    if (neverRefused.includes(pathOf(message.url))) handle(message, response, waits);
    else queue.add(message, response, waits);
  };
  return {
    listener,
    connected: (socket, acceptedAt) => queue.connected(socket, acceptedAt),
    stop: () => log.stop(),
  };
}

/** The paths of requests that are never refused, with and without the path of `APP_URL`. */
export function neverRefusedPaths(health: CompleteHealthSettings | null, basePath: string): string[] {
  const probed = [health?.up, health?.ready].filter((path) => typeof path === "string");
  return [...probed, ...probed.map((path) => basePath + path)];
}

/** The log lines about a server that refuses requests. */
export function overloadWords(maxMs: number): { readonly why: string } {
  return {
    why: `More come than can be handled within maxQueueMs (${maxMs}): add workers or instances, or make them cheaper.`,
  };
}

/** A request target's path, without its query. */
export function pathOf(url = ""): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
