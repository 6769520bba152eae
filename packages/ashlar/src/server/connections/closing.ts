import type { Server, ServerResponse } from "node:http";
import type { Socket, Server as SocketServer } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { logCutOff } from "../../kernel/index.ts";
import { unfinishedResponse } from "../../node/index.ts";
import { isLingering } from "./lingering-close.ts";

/** The connections that a server had to cut off when it closed. */
export interface CutConnections {
  /** How many connections were waiting for a response, or were in the middle of one. */
  readonly requests: number;
  /** How many other connections weren't idle, because their clients were still sending a request. */
  readonly connections: number;
  /**
   * Whether all connections had been accepted when the server stopped listening. The system resets those that are still
   * waiting.
   */
  readonly isQuiet: boolean;
}

/** The log line for when connections kept coming, and some may have been reset. */
export const STILL_COMING =
  "Connections kept coming until the port was closed. Those that were waiting then have been reset.";

/** A server to close, and everything that keeps it open. */
export interface Closing {
  readonly server: Server;
  /** The servers that accept its connections, including itself; empty if its connections come from another process. */
  readonly listening: readonly SocketServer[];
  /** The open connections. */
  readonly sockets: ReadonlySet<Socket>;
  /**
   * Stops another process from handing over connections, and resolves once the last one has arrived; `null` if there is
   * no such process.
   */
  readonly closeSource: (() => Promise<void>) | null;
}

/** How often a closing server checks for connections that have become idle, in milliseconds. */
const IDLE_CHECK_MS = 20;

/**
 * The system completes connections that the server has not accepted yet, and resets them when it stops listening. A
 * closing server therefore keeps accepting until this many turns of the event loop have passed without a new
 * connection. Each turn accepts one connection, and the next turn reads its data.
 */
const QUIET_TURNS = 3;
/**
 * The share of the closing time during which a server keeps accepting connections, because they may never stop coming.
 */
const ACCEPT_SHARE = 0.5;
/** How long a process that hands its connections to others waits for new ones, in milliseconds. */
const MAX_ACCEPT_MS = 1000;
/** How long a closing server waits for a handed-over connection that has sent nothing, in milliseconds. */
const SILENCE_MS = 100;

/** Makes each connection close after its next response, which announces it to the client. */
export function closeAfterResponses({ server, sockets }: Closing): void {
  for (const event of ["request", "checkContinue"]) {
    server.prependListener(event, (_request, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
  }
  for (const socket of sockets) {
    const response = unfinishedResponse(socket);
    if (response !== null) response.shouldKeepAlive = false;
  }
}

/**
 * Closes a server: accepts only the connections that are already waiting, and lets pending requests finish. Call
 * {@link closeAfterResponses} first.
 *
 * @param timeoutSeconds the time after which the remaining connections are cut off
 */
export async function close(closing: Closing, timeoutSeconds: number): Promise<CutConnections> {
  const { server, listening, sockets, closeSource } = closing;
  const cut = { requests: 0, connections: 0, isQuiet: true };
  const late = setTimeout(() => {
    for (const socket of sockets) {
      if (unfinishedResponse(socket) !== null) cut.requests++;
      else if (!isLingering(socket)) cut.connections++;
      logCutOff(socket);
      socket.destroy();
    }
  }, timeoutSeconds * 1000);
  const acceptMs = timeoutSeconds * 1000 * ACCEPT_SHARE;
  if (closeSource !== null) await atMost(acceptMs, closeSource());
  // Another process has handed over all of its connections, but data from the last ones may not have been read.
  cut.isQuiet = await acceptWaiting(server, listening.length > 0 ? acceptMs : Number.POSITIVE_INFINITY);
  // `bytesRead` doesn't include what another process has read.
  const isSilent = (socket: Socket): boolean => socket.bytesRead === 0 && unfinishedResponse(socket) === null;
  // The address stays open, so the last client may have connected only just now.
  if (closeSource !== null && [...sockets].some(isSilent)) await sleep(Math.min(SILENCE_MS, acceptMs));
  // Otherwise the server would wait for connections that have sent nothing.
  for (const socket of sockets) if (isSilent(socket)) socket.destroy();
  // A keep-alive connection becomes idle once its response is out, and the server would wait for it forever. This
  // starts only now, because a connection that hasn't been read may seem idle too.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const closed = listening.map((one) => new Promise((done) => one.close(done)));
  // A server that doesn't listen itself gets no event when its connections have closed.
  if (listening.length === 0) server.close();
  await Promise.all([...closed, ...[...sockets].map((socket) => new Promise((done) => socket.once("close", done)))]);
  clearInterval(idle);
  clearTimeout(late);
  return cut;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

/**
 * Resolves when the connections waiting in the system's queue have been accepted, and their data has been read.
 *
 * @param server the server, which emits `connection` for each of them
 * @param maxMs the time limit, in milliseconds
 * @returns whether all were accepted; `false` if connections kept coming
 */
export async function acceptWaiting(server: SocketServer, maxMs: number = MAX_ACCEPT_MS): Promise<boolean> {
  const endsAt = performance.now() + maxMs;
  let quietTurns = 0;
  let hasAccepted = false;
  const accepted = (): void => {
    quietTurns = 0;
    hasAccepted = true;
  };
  server.on("connection", accepted);
  while (quietTurns < QUIET_TURNS && performance.now() < endsAt) {
    await setImmediate();
    quietTurns++;
  }
  server.off("connection", accepted);
  return !hasAccepted || quietTurns >= QUIET_TURNS;
}
