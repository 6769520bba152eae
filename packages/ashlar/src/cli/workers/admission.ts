import type { Socket } from "node:net";
import { type Logger, RefusalLog } from "../../kernel/index.ts";
import { ConnectionRefuser, overloadWords, type SheddingFacts } from "../../server/index.ts";
import { ControlledDelay } from "../../support/index.ts";
import { CLOCK_OFFSET_MS, type ConnectionMessage } from "./messages.ts";

/** What is known of a connection that no worker has yet. */
interface Accepted {
  readonly at: number;
  /** What has been read of it, a character for each byte; `null` if nothing has. */
  readonly head: string | null;
}

/** The line of connections that wait for one worker. */
export interface WorkerLine {
  readonly delay: ControlledDelay | null;
  /** How many of them were refused. */
  refused: number;
}

/**
 * Decides which of the connections that wait for workers are still handed over, by how long they have waited, and refuses the
 * others here: that takes no time of a worker.
 */
export class Admission {
  readonly #maxMs: number;
  readonly #refuser: ConnectionRefuser;
  readonly #log: RefusalLog;
  readonly #handOver: (socket: Socket) => void;
  readonly #accepted = new WeakMap<Socket, Accepted>();

  /** @param handOver takes a connection that is not refused after all, and should be handed over next */
  constructor(facts: SheddingFacts, logger: Logger, handOver: (socket: Socket) => void) {
    this.#maxMs = facts.maxMs;
    this.#refuser = new ConnectionRefuser(facts);
    this.#log = new RefusalLog(logger, overloadWords(facts.maxMs));
    this.#handOver = handOver;
  }

  /** Begins the line for a worker. */
  line(): WorkerLine {
    return { delay: this.#maxMs === 0 ? null : new ControlledDelay(this.#maxMs), refused: 0 };
  }

  /** Has accepted a connection. */
  accepted(socket: Socket): void {
    this.#accepted.set(socket, { at: performance.now(), head: null });
  }

  /**
   * What a worker is told of a connection whose turn it is; `null` if it has waited too long, and is refused.
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

  /** Refuses a connection that waits for a worker that takes none, and reports whether it has waited for so long. */
  refuseLate(socket: Socket, line: WorkerLine): boolean {
    const { at, head } = this.#accepted.get(socket)!;
    const isLate = this.#maxMs > 0 && head === null && performance.now() - at > this.#maxMs;
    if (isLate) this.#refuse(socket, line);
    return isLate;
  }

  /** Says what the log hasn't said yet. */
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
    // What a client has sent before is read in the next turn. One that has sent nothing was not waiting.
    setImmediate(() => setImmediate(() => (wasWaiting = false)));
  }
}
