import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { ControlledDelay } from "../../support/index.ts";
import type { NodeListener } from "../handlers/node-handler.ts";

/** How long the event loop handles requests in one turn before it checks for new ones, in milliseconds. */
const SLICE_MS = 10;
/** How long the loop accepts connections before it handles requests again, in milliseconds. */
const INTAKE_MS = 10;

/** A request that is waiting for its turn. */
interface Arrival {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the client waits for `100 Continue`. */
  readonly waits: boolean;
  /** The earliest time at which the request may have been sent, by `performance.now()`. */
  readonly since: number;
}

/** How to handle and refuse requests. */
export interface QueueOptions {
  /** How long a request may wait, in milliseconds; see {@link ControlledDelay}. */
  readonly maxMs: number;
  /** Handles a request. */
  readonly handle: NodeListener;
  /** Refuses a request that has waited too long. */
  readonly refuse: (message: IncomingMessage, response: ServerResponse, waits: boolean, ageMs: number) => void;
}

/**
 * A queue of requests that wait until the event loop has time for them, and are refused if that takes too long.
 *
 * In each turn, the event loop accepts one connection, and reads the data from all connections. If it also handled all
 * of these requests before the next turn, new requests would wait unnoticed in the system, and new connections longest
 * of all. So it handles requests only for a limited time per turn, and then continues with further turns until no new
 * connections arrive. All waiting requests are then in this queue, and their age is known.
 *
 * While no request is waiting, requests are handled as they are read. The only cost is then reading the clock once per
 * request.
 */
export class RequestQueue {
  readonly #options: QueueOptions;
  readonly #delay: ControlledDelay;
  #waiting: Arrival[] = [];
  /** The index of the next request to handle. */
  #first = 0;
  #isScheduled = false;
  /** When this turn started to handle its first request; `null` if it hasn't yet. */
  #busySince: number | null = null;
  /** When the last two turns ended; `null` while the loop is idle. */
  #lastTurnAt: number | null = null;
  #turnBeforeAt: number | null = null;
  /** Whether requests, or new connections, arrived in this turn. */
  #hasRequests = false;
  #hasConnections = false;
  /** Whether the last turn accepted connections. Their data arrives in this turn. */
  #isTakingIn = false;
  #intakeEndsAt = 0;
  /** When another process accepted each connection from which nothing has been read. */
  readonly #acceptedAt = new Map<Socket, { readonly at: number; readonly turn: number }>();
  #turn = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#delay = new ControlledDelay(options.maxMs);
  }

  /** How many requests are waiting. */
  get length(): number {
    return this.#waiting.length - this.#first;
  }

  /**
   * Records a new connection, after which more may be waiting to be accepted.
   *
   * @param acceptedAt when another process accepted it, by `performance.now()`; `null` if this process did
   */
  connected(socket: Socket, acceptedAt: number | null): void {
    this.#hasConnections = true;
    if (acceptedAt !== null) this.#acceptedAt.set(socket, { at: acceptedAt, turn: this.#turn });
    this.#schedule();
  }

  /**
   * Handles a request now if no others are waiting; otherwise queues it, or refuses it if others have already waited
   * too long.
   */
  add(message: IncomingMessage, response: ServerResponse, waits: boolean): void {
    const now = performance.now();
    const since = this.#sinceOf(message.socket, now);
    this.#hasRequests = true;
    this.#schedule();
    this.#busySince ??= now;
    // The new request would wait too long as well. If it is refused now, the client can use the connection for another
    // request.
    const oldest = this.#waiting[this.#first];
    if (oldest !== undefined && this.#delay.refusesBehind(now - oldest.since, this.length, now)) {
      this.#options.refuse(message, response, waits, now - since);
      return;
    }
    const isBusy = this.#first < this.#waiting.length || this.#isTakingIn || now - this.#busySince > SLICE_MS;
    if (isBusy || !this.#delay.isCalm(now - since)) this.#waiting.push({ message, response, waits, since });
    else this.#options.handle(message, response, waits);
  }

  /**
   * The earliest time at which a request may have been sent. This is when the loop last checked, because requests that
   * arrive during a turn wait until the turn ends.
   */
  #sinceOf(socket: Socket, now: number): number {
    const accepted = this.#acceptedAt.get(socket);
    const turnBefore = this.#turnBeforeAt ?? now;
    if (accepted === undefined) return turnBefore;
    this.#acceptedAt.delete(socket);
    return Math.min(accepted.at, turnBefore);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    const now = performance.now();
    this.#isScheduled = false;
    this.#turn++;
    this.#turnBeforeAt = this.#lastTurnAt;
    this.#forgetSilent();
    const hadConnections = this.#hasConnections;
    const hasNews = this.#hasRequests || hadConnections || this.#acceptedAt.size > 0;
    const isOver = !hasNews && this.length === 0;
    this.#hasRequests = false;
    this.#hasConnections = false;
    this.#isTakingIn = hadConnections;
    this.#busySince = null;
    if (isOver) {
      this.#delay.emptied();
      this.#lastTurnAt = null;
      this.#turnBeforeAt = null;
      return;
    }
    this.#schedule();
    this.#lastTurnAt = now;
    if (hadConnections && now < this.#intakeEndsAt) return;
    this.#handle(now);
    this.#lastTurnAt = performance.now();
    this.#intakeEndsAt = this.#lastTurnAt + INTAKE_MS;
  };

  /** Handles requests for a limited time, oldest first. */
  #handle(startedAt: number): void {
    const { handle, refuse } = this.#options;
    for (let now = startedAt; this.#first < this.#waiting.length && now - startedAt < SLICE_MS; ) {
      const { message, response, waits, since } = this.#waiting[this.#first++]!;
      // The client has disconnected, and no work has been done for its request yet.
      if (message.socket.destroyed) continue;
      const ageMs = now - since;
      if (this.#delay.refuses(ageMs, this.length, now)) refuse(message, response, waits, ageMs);
      else handle(message, response, waits);
      now = performance.now();
    }
    if (this.#first === this.#waiting.length) this.#waiting = [];
    else if (this.#first < 1024) return;
    else this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  }

  /**
   * Forgets connections that haven't sent anything yet. They weren't waiting for this process, so the waiting time of
   * their next request starts when it arrives.
   */
  #forgetSilent(): void {
    for (const [socket, { turn }] of this.#acceptedAt) {
      if (this.#turn - turn <= 2) return;
      this.#acceptedAt.delete(socket);
    }
  }
}
