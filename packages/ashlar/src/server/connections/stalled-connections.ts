import type { Socket } from "node:net";
import { takenBytes } from "../../node/index.ts";

/** How much of the waiting data the client had read, and since when it has read no more. */
interface Standstill {
  readonly takenBytes: number;
  readonly since: number;
}

/**
 * Ends connections whose client does not read: a client that sends a request and never reads would keep its response in
 * memory forever. A slow reader is left alone, and so is a stream that has nothing to send.
 *
 * Connections are checked periodically, so that requests pay nothing for it.
 *
 * @param sockets the connections currently open
 * @param timeoutSeconds how long a client may read nothing
 * @returns the timer, to be stopped with `clearInterval`
 */
export function endStalled(sockets: ReadonlySet<Socket>, timeoutSeconds: number): NodeJS.Timeout {
  const standstills = new WeakMap<Socket, Standstill>();
  const look = () => {
    const now = performance.now();
    for (const socket of sockets) {
      // Data received from a client is not progress in sending to it: Node's own timeout would restart with each byte.
      const taken = socket.writableLength === 0 ? null : takenBytes(socket);
      if (taken === null) continue;
      const standstill = standstills.get(socket);
      if (standstill?.takenBytes !== taken) standstills.set(socket, { takenBytes: taken, since: now });
      else if (now - standstill.since >= timeoutSeconds * 1000) socket.destroy();
    }
  };
  return setInterval(look, Math.min(5000, timeoutSeconds * 250)).unref();
}
