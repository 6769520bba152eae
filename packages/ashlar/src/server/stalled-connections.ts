import type { Socket } from "node:net";
import { takenBytes } from "../node/index.ts";

/** How much the other side had taken of what waited for it, and since when it has taken no more. */
interface Standstill {
  readonly takenBytes: number;
  readonly since: number;
}

/**
 * Ends connections whose other side takes nothing of what waits for it: a client that asks and does not read would hold
 * its answer in memory for good. One that reads slowly is let be, and so is a stream that has nothing to send.
 *
 * They are looked through now and then, so that a request costs nothing by it.
 *
 * @param sockets the connections that are open at the time
 * @param timeoutSeconds how long nothing may be taken
 * @returns the timer, which ends with `clearInterval`
 */
export function endStalled(sockets: ReadonlySet<Socket>, timeoutSeconds: number): NodeJS.Timeout {
  const standstills = new WeakMap<Socket, Standstill>();
  const look = () => {
    const now = performance.now();
    for (const socket of sockets) {
      // What a client sends is no progress of what it is sent: Node's own timeout would begin again with each byte.
      const taken = socket.writableLength === 0 ? null : takenBytes(socket);
      if (taken === null) {
        standstills.delete(socket);
        continue;
      }
      const standstill = standstills.get(socket);
      if (standstill?.takenBytes !== taken) standstills.set(socket, { takenBytes: taken, since: now });
      else if (now - standstill.since >= timeoutSeconds * 1000) socket.destroy();
    }
  };
  return setInterval(look, Math.min(5000, timeoutSeconds * 250)).unref();
}
