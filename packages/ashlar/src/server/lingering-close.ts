import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Up to this length, the rest of a body is read and thrown away, and the connection is kept. */
const MAX_SKIPPED_BYTES = 65_536;

/** For how long, and how much, a connection is kept open behind its last answer. */
export interface Patience {
  /** How long its client may take to read the answer and to close it, in milliseconds. */
  readonly lingerMs: number;
  /** How much of the body is taken from the client meanwhile, in bytes. Beyond that, the client has to wait. */
  readonly maxBytes: number;
}

const PATIENCE: Patience = { lingerMs: 5000, maxBytes: 32 * 1024 * 1024 };

/** Connections on which the last answer has been given. */
const lingering = new WeakSet<Socket>();

/** Tells whether the last answer of a connection has been given, so that no further request counts (RFC 9112 §9.6). */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Has a connection closed behind an answer in such a way that the client gets to read it, if the client is still sending a
 * body that was not read: RFC 9112 §9.6. A system that closes a connection with unread bytes resets it, and the client
 * loses the answer with it. So the server says that it is done, takes and drops for a while what is still sent, and then
 * closes. To be called before the headers of the answer are written.
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
  // Whether a client that was not told to go on sends its body all the same is anybody's guess.
  if (!awaitsContinue && coding === undefined && Number(length) <= MAX_SKIPPED_BYTES) return;
  const { socket } = message;
  response.shouldKeepAlive = false;
  lingering.add(socket);
  // Begins to read: a body that no one has begun to read when the answer is out is dropped by Node, however much of it comes.
  message.read(0);
  // Node calls it once the answer is out, to close the connection.
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
