import type { Socket } from "node:net";
import { Stall } from "./stall.ts";

/** The maximum number of waiting connections, which is Linux's maximum for a process. */
export const MAX_WAITING = 4096;

/** Connections that are accepted while no worker takes any. They are closed after some time. */
export class WaitingLine {
  readonly #sockets: Socket[] = [];
  readonly #stall: Stall;

  /**
   * @param ms how long connections may wait, in milliseconds
   * @param closed called with the number of connections closed after that time, to make proxies try another instance
   */
  constructor(ms: number, closed: (count: number) => void) {
    this.#stall = new Stall(ms, () => closed(this.close()));
  }

  add(socket: Socket): void {
    // Disconnected clients aren't noticed here, and those that have waited longest are the most likely to have
    // disconnected.
    if (this.#sockets.length >= MAX_WAITING) this.#sockets.shift()!.destroy();
    this.#sockets.push(socket);
    this.#stall.waits();
  }

  /** Empties the queue, and returns its connections. */
  take(): Socket[] {
    this.#stall.end();
    return this.#sockets.splice(0);
  }

  /** Closes the waiting connections, and returns their number. */
  close(): number {
    const sockets = this.take();
    for (const socket of sockets) socket.destroy();
    return sockets.length;
  }
}
