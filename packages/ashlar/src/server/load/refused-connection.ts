import type { Socket } from "node:net";
import { type OriginTable, originHeadersOf } from "../../http/index.ts";
import type { BusyPages } from "../../kernel/index.ts";
import { stopReading } from "../../node/index.ts";
import type { CompleteServerSettings } from "../settings.ts";
import { neverRefusedPaths, pathOf } from "./load-shedding.ts";
import { type Refusal, Refusals, type RefusedRequest } from "./refusal.ts";

/** Everything that another process needs to refuse requests on a server's behalf. */
export interface SheddingFacts {
  /** How long a request may wait, in milliseconds; `0` for no limit. */
  readonly maxMs: number;
  /** The paths of requests that are never refused. */
  readonly neverRefused: readonly string[];
  /** The CORS headers of refusals. */
  readonly origins: OriginTable;
  /** The pages for visitors; `null` for a line of text. */
  readonly pages: BusyPages | null;
  /** How long a client may take to send a request's headers, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** The maximum size of a request's headers, in bytes. */
  readonly maxHeaderBytes: number;
}

/** Returns the data for the process that refuses requests on behalf of a server with these settings. */
export function sheddingFacts(
  { maxQueueMs, health, headersTimeoutSeconds, maxHeaderBytes }: CompleteServerSettings,
  basePath: string,
  origins: OriginTable,
  pages: BusyPages,
): SheddingFacts {
  const neverRefused = neverRefusedPaths(health, basePath);
  const headersTimeoutMs = headersTimeoutSeconds * 1000;
  return { maxMs: maxQueueMs, neverRefused, origins, pages, headersTimeoutMs, maxHeaderBytes };
}

/** How to handle a connection that has waited too long. */
export interface RefusedConnectionOptions {
  /**
   * Reports whether requests are still refused. A client that has sent nothing wasn't waiting, and may send its request
   * later.
   */
  readonly stillRefuses: () => boolean;
  /**
   * Takes over a connection with a request that isn't refused.
   *
   * @param head the data that was read from it, one character per byte
   */
  readonly accept: (socket: Socket, head: string) => void;
  /** Called for each refused request. */
  readonly refused: () => void;
}

/** How long a refused client may continue to send, and how much; see `lingerIfUnread`. */
const LINGER_MS = 5000;
const MAX_BYTES = 32 * 1024 * 1024;

const END_OF_HEAD = "\r\n\r\n";

/**
 * Refuses requests on connections from which nothing has been read yet, at the lowest possible cost. Reads the headers
 * of one request, writes a prepared response, and closes the connection when the client has read it.
 */
export class ConnectionRefuser {
  readonly #facts: SheddingFacts;
  readonly #refusals: Refusals;
  readonly #texts = new WeakMap<Refusal, string>();

  constructor(facts: SheddingFacts) {
    this.#facts = facts;
    this.#refusals = new Refusals(originHeadersOf(facts.origins), facts.pages);
  }

  refuse(socket: Socket, { stillRefuses, accept, refused }: RefusedConnectionOptions): void {
    const { neverRefused, headersTimeoutMs, maxHeaderBytes } = this.#facts;
    let head = "";
    const destroy = (): void => void socket.destroy();
    let timer = setTimeout(destroy, headersTimeoutMs);
    const read = (piece: Buffer): void => {
      head += piece.toString("latin1");
      const end = head.indexOf(END_OF_HEAD);
      if (end === -1 && head.length <= maxHeaderBytes) return;
      clearTimeout(timer);
      socket.off("data", read).off("end", destroy).off("close", forget);
      const request = requestOf(end === -1 ? head : head.slice(0, end));
      if (neverRefused.includes(request.path) || !stillRefuses()) {
        stopReading(socket);
        accept(socket, head);
        return;
      }
      refused();
      timer = setTimeout(destroy, LINGER_MS);
      this.#respond(socket, request);
    };
    const forget = (): void => clearTimeout(timer);
    // On `end`, the client has stopped sending before its request was complete.
    socket.on("error", destroy).on("end", destroy).on("close", forget).on("data", read).resume();
  }

  /**
   * Responds, and keeps reading until the client closes the connection. If it were closed with unread data, the system
   * would reset it.
   */
  #respond(socket: Socket, request: RefusedHead): void {
    const refusal = this.#refusals.of(request);
    let left = MAX_BYTES;
    socket.on("data", (piece: Buffer) => {
      left -= piece.length;
      if (left < 0) socket.pause();
    });
    socket.end(this.#textOf(refusal, request.method === "HEAD"));
  }

  #textOf(refusal: Refusal, isWithoutBody: boolean): string {
    let head = this.#texts.get(refusal);
    if (head === undefined) {
      const { status, headers } = refusal;
      const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}\r\n`);
      head = `HTTP/1.1 ${status} ${status === 503 ? "Service Unavailable" : "No Content"}\r\n${lines.join("")}`;
      this.#texts.set(refusal, head);
    }
    return `${head}date: ${new Date().toUTCString()}\r\n\r\n${isWithoutBody ? "" : refusal.body}`;
  }
}

interface RefusedHead extends RefusedRequest {
  readonly path: string;
}

/**
 * Parses the parts of a request that decide how it is refused. It can be lenient, because whatever the client sends, it
 * gets this response, and the connection is closed.
 */
function requestOf(head: string): RefusedHead {
  const [method = "", target = ""] = head.slice(0, head.indexOf("\r\n") >>> 0).split(" ", 2);
  const field = (name: string): string | undefined => {
    return new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*)`, "i").exec(head)?.[1]?.trim();
  };
  return {
    method,
    path: pathOf(target),
    accept: field("accept"),
    language: field("accept-language"),
    origin: field("origin"),
    requestedMethod: field("access-control-request-method"),
  };
}
