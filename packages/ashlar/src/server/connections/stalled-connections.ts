import type { Socket } from "node:net";
import { takenBytes } from "../../node/index.ts";

/** How much of the pending data the client has read, and when it stopped reading. */
interface Standstill {
  readonly takenBytes: number;
  readonly since: number;
}

/**
 * Ends connections whose client doesn't read, because a client that never reads would keep its response in memory
 * forever. Doesn't affect slow readers, or streams with nothing to send.
 *
 * Connections are checked periodically, which adds no cost to requests.
 *
 * @param sockets the connections currently open
 * @param timeoutSeconds how long a client may go without reading
 * @returns the timer, to be stopped with `clearInterval`
 */
export function endStalled(sockets: ReadonlySet<Socket>, timeoutSeconds: number): NodeJS.Timeout {
  const standstills = new WeakMap<Socket, Standstill>();
  const look = () => {
    const now = performance.now();
    for (const socket of sockets) {
      // Node's own timeout would restart when a client sends data, which doesn't mean that the client reads.
      const taken = socket.writableLength === 0 ? null : takenBytes(socket);
      if (taken === null) continue;
      const standstill = standstills.get(socket);
      if (standstill?.takenBytes !== taken) standstills.set(socket, { takenBytes: taken, since: now });
      else if (now - standstill.since >= timeoutSeconds * 1000) socket.destroy();
    }
  };
  return setInterval(look, Math.min(5000, timeoutSeconds * 250)).unref();
}
