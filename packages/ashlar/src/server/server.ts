import { createServer, type Server, type ServerResponse } from "node:http";
import type { Socket, Server as SocketServer } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import type { TrustedProxies } from "../http/index.ts";
import { type Logger, logAbandoned, logCutOff } from "../kernel/index.ts";
import { unfinishedResponse } from "../node/index.ts";
import type { Complete } from "../support/index.ts";
import { listen } from "./listen.ts";
import { nodeHandler, type RequestHandler } from "./node-handler.ts";
import type { ServerSettings } from "./settings.ts";
import { endStalled } from "./stalled-connections.ts";

/** A server that accepts requests. */
export interface RunningServer {
  /** The address it can be reached at, such as `http://localhost:3000/`. */
  readonly url: string;
  readonly port: number;
  /**
   * Accepts the connections that are already waiting and no others, lets pending requests finish, and then closes; after
   * `timeoutSeconds`, closes at once.
   */
  close(timeoutSeconds?: number): Promise<void>;
}

/** How often a closing server checks for connections that have become idle, in milliseconds. */
const IDLE_CHECK_MS = 20;

/**
 * The system completes connections that the server has not accepted yet, and resets them when it stops listening. A
 * closing server therefore keeps accepting until this many turns of the event loop have passed without a new connection.
 * Each turn accepts one, and the next reads what it sent.
 */
const QUIET_TURNS = 3;
/** New connections may never stop coming: a closing server stops listening after so many turns, or milliseconds. */
const MAX_TURNS = 1000;
const MAX_ACCEPT_MS = 1000;

/**
 * Starts a server on `node:http`, with limits on how long a client may take.
 *
 * @param handler handles the requests
 * @param proxies whose forwarding headers count
 * @param logger receives what could not be sent
 * @param isLocal whether only this machine can reach it, unless the settings have a host name
 * @throws `E_INVALID_CONFIGURATION` if it cannot listen there, with what to do about it
 */
export async function startServer(
  handler: RequestHandler,
  settings: Complete<ServerSettings>,
  proxies: TrustedProxies,
  logger: Logger,
  isLocal = false,
): Promise<RunningServer> {
  const options = {
    keepAliveTimeout: settings.keepAliveTimeoutSeconds * 1000,
    headersTimeout: settings.headersTimeoutSeconds * 1000,
    requestTimeout: settings.requestTimeoutSeconds * 1000,
    // Node checks the two timeouts above only this often.
    connectionsCheckingInterval: Math.min(5000, settings.headersTimeoutSeconds * 250),
    maxHeaderSize: settings.maxHeaderBytes,
    // Request smuggling relies on headers that two parsers read differently. If a header that may appear once appears twice,
    // neither value is used, but a combined value that matches nothing.
    insecureHTTPParser: false,
    joinDuplicateHeaders: true,
  };
  const listener = nodeHandler(handler, proxies, logger);
  const node = createServer(options, listener);
  // The client is told to send its body only when it is about to be read: a refused request never sends one.
  node.on("checkContinue", (message, response) => listener(message, response, true));
  if (settings.maxConnections !== null) node.maxConnections = settings.maxConnections;
  const sockets = new Set<Socket>();
  node.on("connection", (socket) => {
    // Reading the address once makes Node remember it. After a disconnect there would be none, and limits by address would
    // not count a client that cannot read a response either.
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      logAbandoned(socket);
    });
  });
  const { port, listening } = await listen(node, { port: settings.port, hostname: settings.hostname, isLocal });
  const stallCheck = endStalled(sockets, settings.stallTimeoutSeconds);
  node.once("close", () => clearInterval(stallCheck));
  // From here on, an error means that a connection could not be accepted (no file descriptor left); the server goes on.
  for (const one of listening) {
    one.on("error", (error) => logger.error({ err: error }, "A connection could not be accepted."));
  }
  let closed: Promise<void> | null = null;
  return {
    url: urlOf(settings.hostname, port),
    port,
    close(timeoutSeconds) {
      closed ??= close(node, listening, sockets, timeoutSeconds);
      return closed;
    },
  };
}

function urlOf(hostname: string | null, port: number): string {
  const isEverywhere = hostname === null || hostname === "0.0.0.0" || hostname === "::";
  const host = isEverywhere ? "localhost" : hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}

async function close(
  server: Server,
  listening: readonly SocketServer[],
  sockets: ReadonlySet<Socket>,
  timeoutSeconds = 10,
): Promise<void> {
  const late = setTimeout(() => {
    for (const socket of sockets) logCutOff(socket);
    server.closeAllConnections();
  }, timeoutSeconds * 1000);
  // This response tells the client that the next request needs another connection.
  for (const event of ["request", "checkContinue"]) {
    server.prependListener(event, (_request, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
  }
  for (const socket of sockets) {
    const response = unfinishedResponse(socket);
    if (response !== null) response.shouldKeepAlive = false;
  }
  await acceptWaiting(server, Math.min(MAX_ACCEPT_MS, timeoutSeconds * 1000));
  // Otherwise the server would wait for connections that have sent nothing.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  // A kept-alive connection becomes idle once its response is out, and the server would wait for it in vain. This starts
  // late, because a connection from which nothing has been read yet may count as idle too.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await Promise.all(listening.map((one) => new Promise((done) => one.close(done))));
  clearInterval(idle);
  clearTimeout(late);
}

/** Resolves when the connections waiting in the system's queue have been accepted, and what they sent has been read. */
async function acceptWaiting(server: Server, maxMs: number): Promise<void> {
  const endsAt = performance.now() + maxMs;
  let quietTurns = 0;
  const accepted = (): void => {
    quietTurns = 0;
  };
  server.on("connection", accepted);
  for (let turn = 0; turn < MAX_TURNS && quietTurns < QUIET_TURNS && performance.now() < endsAt; turn++) {
    await setImmediate();
    quietTurns++;
  }
  server.off("connection", accepted);
}
