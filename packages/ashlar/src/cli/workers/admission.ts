import type { Socket } from "node:net";
import { type Logger, RefusalLog } from "../../kernel/index.ts";
import { ConnectionRefuser, overloadWords, type SheddingFacts } from "../../server/index.ts";
import { ControlledDelay } from "../../support/index.ts";
import { CLOCK_OFFSET_MS, type ConnectionMessage } from "./messages.ts";

/** The data about a connection that no worker has yet. */
interface Accepted {
  readonly at: number;
  /** The data that was read from it, a character for each byte; `null` if none was. */
  readonly head: string | null;
}

/** The queue of connections that wait for one worker. */
export interface WorkerLine {
  readonly delay: ControlledDelay | null;
  /** How many of them were refused. */
  refused: number;
}

/**
 * Decides by their waiting time which connections are still handed over to workers. Refuses the others in this process, so that
 * refusals take no worker's time.
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
   * @param left how many wait behind it
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

  /** Refuses a connection to a worker that takes none, if it has waited too long, and reports whether it did. */
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
    // Data that a client has already sent is read in the next turn. A client that has sent nothing wasn't waiting.
    setImmediate(() => setImmediate(() => (wasWaiting = false)));
  }
}
