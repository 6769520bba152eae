import type { Socket } from "node:net";

/** What the system's side of a socket counts, in bytes. */
interface CountingSocket extends Socket {
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

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
    for (const socket of sockets as ReadonlySet<CountingSocket>) {
      if (socket.writableLength === 0 || !socket._handle) {
        standstills.delete(socket);
        continue;
      }
      // What a client sends is no progress of what it is sent: Node's own timeout would begin anew with each byte.
      const takenBytes = socket._handle.bytesWritten - socket._handle.writeQueueSize;
      const standstill = standstills.get(socket);
      if (standstill?.takenBytes !== takenBytes) standstills.set(socket, { takenBytes, since: now });
      else if (now - standstill.since >= timeoutSeconds * 1000) socket.destroy();
    }
  };
  return setInterval(look, Math.min(5000, timeoutSeconds * 250)).unref();
}
