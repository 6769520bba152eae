import type { Socket } from "node:net";
import { type Logger, RefusalLog } from "../../kernel/index.ts";
import { ConnectionRefuser, overloadWords, type SheddingFacts } from "../../server/index.ts";
import { ControlledDelay } from "../../support/index.ts";
import { CLOCK_OFFSET_MS, type ConnectionMessage } from "./messages.ts";

/** A connection that has not been handed to a worker yet. */
interface Accepted {
  readonly at: number;
  /** The data that was read from it, one character per byte; `null` if none was read. */
  readonly head: string | null;
}

/** The queue of connections for one worker. */
export interface WorkerLine {
  readonly delay: ControlledDelay | null;
  /** How many of them have been refused. */
  refused: number;
}

/**
 * Decides, based on their waiting time, which connections are still handed over to workers. Refuses the others in this
 * process, so that refusals take up no worker's time.
 */
export class Admission {
  readonly #maxMs: number;
  readonly #refuser: ConnectionRefuser;
  readonly #log: RefusalLog;
  readonly #handOver: (socket: Socket) => void;
  readonly #accepted = new WeakMap<Socket, Accepted>();

  /** @param handOver called with a connection that isn't refused after all, and should be handed over next */
  constructor(facts: SheddingFacts, logger: Logger, handOver: (socket: Socket) => void) {
    this.#maxMs = facts.maxMs;
    this.#refuser = new ConnectionRefuser(facts);
    this.#log = new RefusalLog(logger, overloadWords(facts.maxMs));
    this.#handOver = handOver;
  }

  /** Starts the queue for a worker. */
  line(): WorkerLine {
    return { delay: this.#maxMs === 0 ? null : new ControlledDelay(this.#maxMs), refused: 0 };
  }

  /** Records a connection that was accepted. */
  accepted(socket: Socket): void {
    this.#accepted.set(socket, { at: performance.now(), head: null });
  }

  /**
   * The message to a worker about a connection whose turn it is; `null` if the connection has waited too long, and is
   * refused.
   *
   * @param left how many connections wait behind it
   */
  messageFor(socket: Socket, line: WorkerLine, left: number): ConnectionMessage | null {
    const { at, head } = this.#accepted.get(socket)!;
    const now = performance.now();
    if (head === null && line.delay?.refuses(now - at, left, now)) {
      this.#refuse(socket, line);
      return null;
    }
    return { type: "connection", acceptedAt: at + CLOCK_OFFSET_MS, ...(head !== null && { head }) };
  }

  /** If a connection has waited too long for a worker that takes none, refuses it. Returns whether it was refused. */
  refuseLate(socket: Socket, line: WorkerLine): boolean {
    const { at, head } = this.#accepted.get(socket)!;
    const isLate = this.#maxMs > 0 && head === null && performance.now() - at > this.#maxMs;
    if (isLate) this.#refuse(socket, line);
    return isLate;
  }

  /** Logs the refusals that haven't been logged yet. */
  stop(): void {
    this.#log.stop();
  }

  #refuse(socket: Socket, line: WorkerLine): void {
    const { at } = this.#accepted.get(socket)!;
    const refusedAt = performance.now();
    let wasWaiting = true;
    this.#refuser.refuse(socket, {
      stillRefuses: () => wasWaiting || line.delay!.stands(performance.now()),
      accept: (accepted, head) => {
        this.#accepted.set(accepted, { at: performance.now(), head });
        this.#handOver(accepted);
      },
      refused: () => {
        line.refused++;
        this.#log.count(refusedAt - at);
      },
    });
    // Data that the client has already sent is read in the next turn. A client that has sent nothing wasn't waiting.
    setImmediate(() => setImmediate(() => (wasWaiting = false)));
  }
}
