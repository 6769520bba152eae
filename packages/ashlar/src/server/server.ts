import { createServer, type ServerOptions as NodeServerOptions, type Server } from "node:http";
import type { Socket } from "node:net";
import { NO_ORIGIN_HEADERS, type OriginHeaders, type TrustedProxies, UNIX_PEER } from "../http/index.ts";
import { type BusyPages, type Logger, logAbandoned } from "../kernel/index.ts";
import { type CutConnections, close, closeAfterResponses } from "./connections/closing.ts";
import { type ListenAddress, type Listens, listen } from "./connections/listen.ts";
import { endStalled } from "./connections/stalled-connections.ts";
import { nodeHandler, type RequestHandler } from "./handlers/node-handler.ts";
import { neverRefusedPaths, sheddingListener } from "./load/load-shedding.ts";
import { HeldRefusals } from "./responses/held-refusals.ts";
import type { CompleteServerSettings } from "./settings.ts";

/** A server that accepts requests. */
export interface RunningServer {
  /** The server's URL, such as `http://localhost:3000/`; `http://localhost/` for a {@link socket}. */
  readonly url: string;
  /** The port; `0` for a unix socket or a pipe. */
  readonly port: number;
  /**
   * The path of the unix socket or pipe at which the server listens; `fd:3` for a socket that systemd has opened;
   * `null` for a port.
   */
  readonly socket: string | null;
  /**
   * Accepts only the connections that are already waiting, lets pending requests finish, and then closes. After
   * `timeoutSeconds`, closes at once.
   */
  close(timeoutSeconds?: number): Promise<void>;
}

/** A running server, as its application sees it. */
export interface ApplicationServer extends RunningServer {
  /** Makes each connection close after its next response. Connections are still accepted, and idle ones stay open. */
  drain(): void;
  /** Closes like {@link RunningServer.close}, and returns what was cut off. */
  end(timeoutSeconds: number): Promise<CutConnections>;
}

/** Another process that accepts a server's connections. */
export interface ConnectionSource {
  readonly port: number;
  /** The path of the unix socket or pipe at which it accepts them; `null` for a port. */
  readonly socket: string | null;
  /**
   * Calls a function for each connection, before any data is read from it, with the connection, and the time when it
   * was accepted, by this process's `performance.now()`; `null` if that is unknown.
   */
  receive(take: (socket: Socket, acceptedAt: number | null) => void): void;
  /** Called when the server takes no more connections. Resolves once the last one has arrived. */
  close(): Promise<void>;
}

/** Options of {@link startServer}. */
export interface ServerOptions {
  /** Whether only this machine can reach the server, unless the settings have a host name. */
  readonly isLocal?: boolean;
  /** The process that the server's connections come from; `null` if it listens itself. */
  readonly source?: ConnectionSource | null;
  /** The CORS headers of an overloaded server's refusals. */
  readonly origins?: OriginHeaders;
  /** The pages for visitors of an overloaded server; default: a line of text. */
  readonly pages?: BusyPages | null;
  /** Called for each request that an overloaded server refuses. */
  readonly refused?: () => void;
  /** The path of `APP_URL`, with which all paths begin; default: none. */
  readonly basePath?: string;
}

const CLOSE_TIMEOUT_SECONDS = 10;

/**
 * Starts a `node:http` server, with limits on how long a client may take.
 *
 * @param handler handles the requests
 * @param proxies the proxies whose forwarding headers are trusted
 * @param logger logs responses that could not be sent
 * @throws `E_INVALID_CONFIGURATION`, with advice, if it cannot listen there
 */
export async function startServer(
  handler: RequestHandler,
  settings: CompleteServerSettings,
  proxies: TrustedProxies,
  logger: Logger,
  {
    isLocal = false,
    source = null,
    origins = NO_ORIGIN_HEADERS,
    pages = null,
    refused = () => {},
    basePath = "",
  }: ServerOptions = {},
): Promise<ApplicationServer> {
  const { maxQueueMs: maxMs, health } = settings;
  const held = new HeldRefusals(maxMs);
  const handling = nodeHandler(handler, proxies, logger, held);
  const neverRefused = neverRefusedPaths(health, basePath);
  const shedding =
    maxMs === 0 ? null : sheddingListener(handling, { maxMs, neverRefused, origins, pages, held, refused }, logger);
  const listener = shedding?.listener ?? handling;
  const node = createServer(optionsOf(settings), listener);
  // The client is asked for its body only when the body is about to be read, so a refused request never sends one.
  node.on("checkContinue", (message, response) => listener(message, response, true));
  if (settings.maxConnections !== null) node.maxConnections = settings.maxConnections;
  const sockets = new Set<Socket>();
  /** Whether connections come through a unix socket or a pipe, and so have no address. */
  let isUnix = false;
  node.on("connection", (socket, acceptedAt: number | null = null) => {
    if (isUnix) Object.defineProperty(socket, "remoteAddress", { value: UNIX_PEER });
    // Once the address has been read, Node remembers it. Otherwise, it would be gone after a disconnect, and limits by
    // address wouldn't count clients that don't wait for the response.
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    shedding?.connected(socket, acceptedAt);
    socket.once("close", () => {
      sockets.delete(socket);
      logAbandoned(socket);
    });
  });
  if (source !== null) isUnix = source.socket !== null;
  else node.once("listening", () => (isUnix = isUnixServer(node)));
  const { port, socket, listening } = await begin(node, sockets, { ...settings, isLocal }, source);
  const stallCheck = endStalled(sockets, settings.stallTimeoutSeconds);
  // From now on, an error means that a connection couldn't be accepted, for example because no file descriptor is left.
  // The server continues.
  for (const one of listening) {
    one.on("error", (error) => logger.error({ err: error }, "A connection could not be accepted."));
  }
  const closing = { server: node, listening, sockets, closeSource: source && (() => source.close()) };
  let isDraining = false;
  let ended: Promise<CutConnections> | null = null;
  const drain = (): void => {
    if (isDraining) return;
    isDraining = true;
    closeAfterResponses(closing);
    held.release();
  };
  const end = (timeoutSeconds: number): Promise<CutConnections> => {
    drain();
    // This doesn't wait for the event "close", because a server that doesn't listen emits it while it is still
    // responding.
    ended ??= close(closing, timeoutSeconds).finally(() => {
      clearInterval(stallCheck);
      shedding?.stop();
    });
    return ended;
  };
  return {
    url: urlOf(settings.hostname, port, socket) + basePathOf(basePath),
    port,
    socket,
    drain,
    end,
    async close(timeoutSeconds = CLOSE_TIMEOUT_SECONDS) {
      await end(timeoutSeconds);
    },
  };
}

function optionsOf(settings: CompleteServerSettings): NodeServerOptions {
  return {
    keepAliveTimeout: settings.keepAliveTimeoutSeconds * 1000,
    headersTimeout: settings.headersTimeoutSeconds * 1000,
    requestTimeout: settings.requestTimeoutSeconds * 1000,
    // Node checks the two timeouts above only this often.
    connectionsCheckingInterval: Math.min(5000, settings.headersTimeoutSeconds * 250),
    maxHeaderSize: settings.maxHeaderBytes,
    // Request smuggling relies on headers that two parsers read differently. If a header that may appear only once is
    // repeated, its values are joined into one that matches nothing.
    insecureHTTPParser: false,
    joinDuplicateHeaders: true,
  };
}

/** Makes a server listen, or take connections from another process. */
async function begin(
  server: Server,
  sockets: ReadonlySet<Socket>,
  address: ListenAddress,
  source: ConnectionSource | null,
): Promise<Listens> {
  return source === null ? await listen(server, address) : receive(server, sockets, source);
}

/** Makes a server take connections from another process. */
function receive(server: Server, sockets: ReadonlySet<Socket>, source: ConnectionSource): Listens {
  // On this event, Node starts to check for slow clients.
  server.emit("listening");
  source.receive((socket, acceptedAt) => {
    // A server that listens does both of these itself.
    socket.allowHalfOpen = true;
    if (sockets.size >= (server.maxConnections ?? Number.POSITIVE_INFINITY)) socket.destroy();
    else server.emit("connection", socket, acceptedAt);
  });
  return { port: source.port, socket: source.socket, listening: [] };
}

/** Whether a listening server uses a unix socket or a pipe. */
function isUnixServer(server: Server): boolean {
  const address = server.address();
  return typeof address !== "object" || address === null;
}

function urlOf(hostname: string | null, port: number, socket: string | null): string {
  if (socket !== null) return "http://localhost/";
  const isEverywhere = hostname === null || hostname === "0.0.0.0" || hostname === "::";
  const host = isEverywhere ? "localhost" : hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}

/** A base path, in the form to append to a URL that ends with a slash. */
function basePathOf(basePath: string): string {
  return basePath === "" ? "" : `${basePath.slice(1)}/`;
}
