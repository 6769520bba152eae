import { createServer, type Socket } from "node:net";
import type { Logger } from "../../kernel/index.ts";
import { type ListenAddress, type Listens, listen, type SheddingFacts } from "../../server/index.ts";
import { Admission } from "./admission.ts";
import type { Member } from "./member.ts";
import { WaitingLine } from "./waiting-line.ts";

/** How long closed connections are counted before their number is logged, in milliseconds. */
const COUNT_MS = 1000;
/** How often the queues of workers that take no connections are checked, in milliseconds. */
const LATE_MS = 100;

/** The dependencies of a {@link Distribution}. */
export interface DistributionDependencies {
  readonly members: ReadonlySet<Member>;
  /** How many connections may wait for each worker. */
  readonly maxWaiting: number;
  /** How long a connection may wait while no worker takes any, in milliseconds. */
  readonly waitMs: number;
  readonly shedding: SheddingFacts;
  readonly logger: Logger;
}

/** Accepts connections and hands each to a worker. */
export class Distribution {
  readonly admission: Admission;
  readonly #members: ReadonlySet<Member>;
  readonly #maxWaiting: number;
  readonly #logger: Logger;
  readonly #waiting: WaitingLine;
  #isEnding = false;
  #hasLost = false;
  /** How many connections have been closed since their number was last logged. */
  #closed = 0;
  #next = 0;

  constructor({ members, maxWaiting, waitMs, shedding, logger }: DistributionDependencies) {
    this.#members = members;
    this.#maxWaiting = maxWaiting;
    this.#logger = logger;
    this.admission = new Admission(shedding, logger, (socket) => this.handOver(socket, true));
    this.#waiting = new WaitingLine(waitMs, (waiting) => {
      const problem = `No worker has taken connections for ${waitMs / 1000} seconds.`;
      logger.error({ waiting }, `${problem} Waiting connections are closed.`);
    });
  }

  /** Whether connections were lost at shutdown. */
  get hasLost(): boolean {
    return this.#hasLost;
  }

  /**
   * Starts to accept connections.
   *
   * @param fd the descriptor of the socket to listen on, if another program has opened it
   */
  async listen(address: ListenAddress, fd: number | null): Promise<Listens> {
    // No data is read here, because it is for the connection's worker.
    const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true });
    server.on("connection", (socket) => {
      this.admission.accepted(socket);
      this.handOver(socket);
    });
    setInterval(() => this.#refuseLate(), LATE_MS).unref();
    const found = await listen(server, { ...address, fd, isPaused: true });
    for (const one of found.listening) {
      one.on("error", (error) => this.#logger.error({ err: error }, "A connection could not be accepted."));
    }
    return found;
  }

  /**
   * Hands a connection to the next of the workers with the shortest queue.
   *
   * @param isNext whether it goes to the front of the queue
   */
  handOver(socket: Socket, isNext = false): void {
    const serving = [...this.#members].filter(({ isServing }) => isServing);
    const fewest = Math.min(...serving.map(({ channel }) => channel.waiting));
    const free = serving.filter(({ channel }) => channel.waiting === fewest);
    const member = free[this.#next++ % free.length];
    if (member !== undefined && fewest < this.#maxWaiting) member.channel.send(socket, isNext);
    else if (member !== undefined) this.#close(socket);
    else if (!this.#isEnding) this.#waiting.add(socket);
    else {
      this.#hasLost = true;
      this.#close(socket);
    }
  }

  /** Hands over the connections that were waiting while no worker took any. */
  handOverWaiting(): void {
    for (const socket of this.#waiting.take()) this.handOver(socket);
  }

  /** Stops handing connections to a worker. Those in its queue go to the other workers. */
  setApart(member: Member): void {
    member.isApart = true;
    for (const socket of member.channel.withdraw()) this.handOver(socket);
  }

  /** From now on, closes connections for which no worker is left, because the process is shutting down. */
  end(): void {
    this.#isEnding = true;
  }

  /** Closes the connections that are waiting while no worker takes any. */
  closeWaiting(): void {
    this.lost(this.#waiting.close());
  }

  /** Logs that connections were closed at shutdown. */
  lost(connections: number): void {
    if (connections === 0) return;
    this.#closed += connections;
    this.#logClosed();
    this.#hasLost = true;
  }

  /** Logs what hasn't been logged yet. */
  stop(): void {
    this.#logClosed();
    this.admission.stop();
  }

  /** Refuses connections that have waited too long for workers that take none, such as a worker that computes. */
  #refuseLate(): void {
    for (const { channel, line } of this.#members) {
      if (line !== null) channel.dropFirst((socket) => this.admission.refuseLate(socket, line));
    }
  }

  /** Closes a connection that no worker takes, and counts it for the log. */
  #close(socket: Socket): void {
    socket.destroy();
    if (this.#closed++ === 0) setTimeout(() => this.#logClosed(), COUNT_MS);
  }

  #logClosed(): void {
    if (this.#closed === 0) return;
    const line = { connections: this.#closed };
    this.#closed = 0;
    const isBusy = [...this.#members].some(({ isServing }) => isServing);
    const why = isBusy ? "too many wait for the workers" : "no worker is left";
    this.#logger.warn(line, `Connections were closed, because ${why}.`);
  }
}
