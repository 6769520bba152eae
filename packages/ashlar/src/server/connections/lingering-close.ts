import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** If a body is no longer than this, the rest of it is read and discarded, and the connection is kept. */
const MAX_SKIPPED_BYTES = 65_536;

/** How long a connection stays open after its last response, and for how much data. */
export interface Patience {
  /** How long the client may take to read the response and close the connection, in milliseconds. */
  readonly lingerMs: number;
  /** How much of the body is read in the meantime, in bytes. After that, nothing more is read. */
  readonly maxBytes: number;
}

const PATIENCE: Patience = { lingerMs: 5000, maxBytes: 32 * 1024 * 1024 };

/** Connections whose last response has been sent. */
const lingering = new WeakSet<Socket>();

/**
 * Reports whether a connection's last response has been sent, so that further requests must be ignored (RFC 9112 §9.6).
 */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Makes a connection close after a response, so that the client can read the response even while it is still sending an
 * unread body (RFC 9112 §9.6). If a connection with unread bytes is closed, the system resets it, and the client loses
 * the response. So the server announces that it will close the connection, reads and discards data for a while, and
 * then closes it. Call it before the headers of the response are written.
 */
export function lingerIfUnread(
  message: IncomingMessage,
  response: ServerResponse,
  awaitsContinue: boolean,
  patience: Patience = PATIENCE,
): void {
  if (message.complete) return;
  const { "content-length": length, "transfer-encoding": coding } = message.headers;
  if (length === undefined && coding === undefined) return;
  // A client that didn't get `100 Continue` may or may not send its body.
  if (!awaitsContinue && coding === undefined && Number(length) <= MAX_SKIPPED_BYTES) return;
  const { socket } = message;
  response.shouldKeepAlive = false;
  lingering.add(socket);
  // Starts to read, because once the response is out, Node discards any amount of a body that no code has started to
  // read.
  message.read(0);
  // Node calls this to close the connection once the response is out.
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => linger(message, socket, destroySoon, patience);
}

function linger(message: IncomingMessage, socket: Socket, close: () => void, patience: Patience): void {
  if (message.complete || socket.destroyed) {
    close();
    return;
  }
  socket.end();
  const timer = setTimeout(() => socket.destroy(), patience.lingerMs).unref();
  socket.once("close", () => clearTimeout(timer));
  let left = patience.maxBytes;
  message
    .on("data", (chunk: Uint8Array) => {
      left -= chunk.length;
      if (left < 0) message.pause();
    })
    .once("end", close)
    .resume();
}
