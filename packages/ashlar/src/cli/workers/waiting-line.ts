import type { Socket } from "node:net";
import { Stall } from "./stall.ts";

/** How many connections wait for a worker at most: as many as Linux lets wait for a process. */
export const MAX_WAITING = 4096;

/** The connections that were accepted while no worker takes any. They wait for some time, and are closed then. */
export class WaitingLine {
  readonly #sockets: Socket[] = [];
  readonly #stall: Stall;

  /**
   * @param ms for how long they wait
   * @param closed called with how many were closed after that time: a proxy asks another instance then
   */
  constructor(ms: number, closed: (count: number) => void) {
    this.#stall = new Stall(ms, () => closed(this.close()));
  }

  add(socket: Socket): void {
    // Clients that have left are not noticed here, and those that have waited longest are the likeliest to have left.
    if (this.#sockets.length >= MAX_WAITING) this.#sockets.shift()!.destroy();
    this.#sockets.push(socket);
    this.#stall.waits();
  }

  /** Ends the line, and returns the connections in it. */
  take(): Socket[] {
    this.#stall.end();
    return this.#sockets.splice(0);
  }

  /** Closes what waits, and returns how many those were. */
  close(): number {
    const sockets = this.take();
    for (const socket of sockets) socket.destroy();
    return sockets.length;
  }
}
