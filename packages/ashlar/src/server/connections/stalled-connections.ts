import type { Socket } from "node:net";
import { takenBytes } from "../../node/index.ts";

/** How much of the pending data the client has read, and when it stopped reading. */
interface Standstill {
  readonly takenBytes: number;
  readonly since: number;
}

/**
 * Ends connections whose client doesn't read, because a client that never reads would keep its response in memory
 * forever. Slow readers and streams with nothing to send are left alone.
 *
 * Connections are checked periodically, so that this costs requests nothing.
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
      // Data received from a client doesn't mean that it reads, but it would restart Node's own timeout.
      const taken = socket.writableLength === 0 ? null : takenBytes(socket);
      if (taken === null) continue;
      const standstill = standstills.get(socket);
      if (standstill?.takenBytes !== taken) standstills.set(socket, { takenBytes: taken, since: now });
      else if (now - standstill.since >= timeoutSeconds * 1000) socket.destroy();
    }
  };
  return setInterval(look, Math.min(5000, timeoutSeconds * 250)).unref();
}
