import type { Worker } from "node:cluster";
import type { Socket } from "node:net";
import type { FromPrimary } from "./messages.ts";
import { Stall } from "./stall.ts";

/** The number of unanswered pings after which a worker counts as hanging. */
const PINGS = 3;

/** Options of a {@link WorkerChannel}. */
export interface WorkerChannelOptions {
  /** How long the worker may go without responding, in milliseconds. */
  readonly stallMs: number;
  /** Called once it hasn't responded for that long. */
  readonly stalled: () => void;
  /**
   * Called with the next connection, and how many wait behind it. The result is sent along. If it is `null`, the
   * connection isn't sent.
   */
  readonly messageFor: (socket: Socket, left: number) => FromPrimary | null;
  /** Called when the queue is empty. */
  readonly emptied: () => void;
  /** Called with a connection that could not be sent. */
  readonly unsent: (socket: Socket) => void;
}

/** The primary process's channel to a worker: it sends connections, and notices if the worker doesn't respond. */
export class WorkerChannel {
  readonly #worker: Worker;
  readonly #options: WorkerChannelOptions;
  readonly #stall: Stall;
  /** The waiting connections, with the next one first. */
  readonly #queued: Socket[] = [];
  /** The connection that Node.js is sending; `null` if there isn't one. */
  #sending: Socket | null = null;
  /** Resolves when the queue is empty, for callers that wait for that. */
  #emptied: PromiseWithResolvers<void> | null = null;
  /** Whether the worker was pinged and hasn't answered yet. */
  #isPinged = false;
  /** Whether more has been sent since the ping. */
  #isUnconfirmed = false;
  #heartbeat: NodeJS.Timeout | null = null;

  constructor(worker: Worker, options: WorkerChannelOptions) {
    this.#worker = worker;
    this.#options = options;
    this.#stall = new Stall(options.stallMs, options.stalled);
  }

  /** How many connections are waiting to be sent. */
  get waiting(): number {
    return this.#queued.length + (this.#sending === null ? 0 : 1);
  }

  /**
   * Sends the worker a message, after the connection that Node.js is sending, and before the waiting ones. Resolves once it has
   * been sent.
   */
  async tell(message: FromPrimary): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    if (this.#worker.isConnected()) this.#worker.send(message, resolve);
    else resolve(null);
    await promise;
  }

  /** Starts pinging the worker from time to time. */
  watch(): void {
    this.#heartbeat = setInterval(() => this.#ping(), this.#options.stallMs / PINGS);
  }

  /** @param isNext whether it goes to the front of the queue */
  send(socket: Socket, isNext = false): void {
    if (isNext) this.#queued.unshift(socket);
    else this.#queued.push(socket);
    this.#stall.waits();
    if (this.#sending === null) this.#sendNext();
  }

  /**
   * Passes the next connection to Node.js. Node.js gets one at a time, because messages queue behind its connections.
   */
  #sendNext(): void {
    let socket: Socket | undefined;
    let message: FromPrimary | null = null;
    do {
      socket = this.#queued.shift();
      if (socket !== undefined) message = this.#options.messageFor(socket, this.#queued.length);
    } while (socket !== undefined && message === null);
    if (socket === undefined || message === null) {
      this.#options.emptied();
      this.#emptied?.resolve();
      return;
    }
    this.#sending = socket;
    // Without `keepOpen`, Node.js closes its own copy only when the worker confirms, which never happens if the worker
    // dies first.
    this.#worker.send(message, socket, { keepOpen: true }, (error) => {
      if (this.#sending !== socket) return;
      this.#sending = null;
      this.#stall.goesOn();
      this.#ping();
      // Security: a connection that has been sent is never handed to another worker, which might interpret part of a
      // request as a new one.
      if (error === null) socket.destroy();
      else this.#options.unsent(socket);
      this.#sendNext();
    });
  }

  /** Removes waiting connections from the front of the queue while a function takes them. */
  dropFirst(takes: (socket: Socket) => boolean): void {
    while (this.#queued.length > 0 && takes(this.#queued[0]!)) this.#queued.shift();
  }

  /** Takes back the waiting connections for other workers, except the connection that Node.js is sending. */
  withdraw(): Socket[] {
    return this.#queued.splice(0);
  }

  /** Called when a ping is answered. */
  ponged(): void {
    this.#isPinged = false;
    this.#stall.goesOn();
    if (this.#isUnconfirmed) this.#ping();
    else if (this.waiting === 0) this.#stall.end();
  }

  /**
   * Waits until all connections have been sent, and closes those that are left at the time limit, which Node.js won't
   * send anymore.
   *
   * @param maxMs how long to wait, in milliseconds
   * @returns how many connections were closed
   */
  async finish(maxMs: number): Promise<number> {
    this.#emptied = Promise.withResolvers();
    const late = setTimeout(this.#emptied.resolve, maxMs);
    if (this.waiting > 0) await this.#emptied.promise;
    clearTimeout(late);
    const left = this.#takeAll();
    for (const socket of left) socket.destroy();
    return left.length;
  }

  /**
   * Cleans up after a worker that has ended.
   *
   * @returns the connections that weren't sent: Node.js keeps them open, so their clients would wait forever
   */
  end(): Socket[] {
    this.#stall.end();
    clearInterval(this.#heartbeat ?? undefined);
    this.#emptied?.resolve();
    return this.#takeAll();
  }

  #takeAll(): Socket[] {
    const sending = this.#sending === null ? [] : [this.#sending];
    this.#sending = null;
    return [...sending, ...this.#queued.splice(0)];
  }

  /**
   * Asks whether the worker responds, and whether everything sent to it has arrived: sending a connection succeeds even if the
   * worker is frozen.
   */
  #ping(): void {
    this.#stall.waits();
    this.#isUnconfirmed = this.#isPinged;
    if (this.#isPinged) return;
    this.#isPinged = true;
    void this.tell({ type: "ping" });
  }
}
