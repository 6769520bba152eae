import { connect, type Socket } from "node:net";

/** A connection on which a test sends arbitrary bytes. */
export interface RawSocket {
  readonly socket: Socket;
  /** Everything received so far. */
  readonly received: () => string;
  /** Everything received, after waiting for the connection to end. */
  readonly closed: Promise<string>;
}

/** Connects to a port of this machine and sends text. */
export function rawSocket(port: number, text = ""): RawSocket {
  const socket = connect(port, "127.0.0.1");
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  let received = "";
  socket.on("data", (data) => (received += String(data)));
  socket.on("close", () => resolve(received)).on("error", () => {});
  socket.write(text);
  return { socket, received: () => received, closed };
}

/**
 * Sends a request without a body on a separate connection and returns the complete response, without its date and its
 * random id.
 */
export async function exchange(port: number, requestLine: string, ...headers: readonly string[]): Promise<string> {
  const lines = [`${requestLine} HTTP/1.1`, ...headers, "Connection: close"];
  const answer = await rawSocket(port, `${lines.join("\r\n")}\r\n\r\n`).closed;
  return answer.replace(/(?:Date|x-request-id): .*\r\n/g, "").replaceAll("\r\n", "\n");
}

/** A response with sorted header fields, because their order doesn't matter. */
export function sorted(answer: string): string {
  const [head = "", ...body] = answer.split("\n\n");
  const [status, ...fields] = head.split("\n");
  return [[status, ...fields.sort()].join("\n"), ...body].join("\n\n");
}
