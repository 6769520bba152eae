import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { AshlarError, type ErrorCode } from "../../support/index.ts";
import type { Argon2Parameters } from "./phc.ts";

/** What a thread is asked for: whether a password matches a hash, or, where that is `null`, the password's own hash. */
export interface HashingJob {
  readonly hash: string | null;
  readonly plain: string;
  /** What a hash is made with, and what a text costs that is no hash. */
  readonly parameters: Argon2Parameters;
}

/** What a thread answers: what came of the job, or the error that kept it from that. */
export type HashingAnswer =
  | { readonly result: string | boolean }
  | { readonly code: ErrorCode; readonly error: unknown };

/** The most threads where nothing else is said: each keeps memory, and so many verify some hundreds of logins a second. */
const MAX_THREADS = 8;
/** One job more than a thread works on is handed to it ahead, so that it need not wait for the loop in between. */
const JOBS_AHEAD = 1;
/** At some 10 ms a hash, the last in line waits for less than a second. */
const MAX_WAITING_PER_THREAD = 64;

/** How {@link HashingThreads} work; what is left out suits the machine. */
export interface HashingThreadsOptions {
  /** How many threads there are at most, at least 1; as many as cores, and no more than 8, where left out. */
  readonly threads?: number;
  /** How many jobs wait for a thread at most; the next one is answered with `E_OVERLOADED`. 64 for each thread. */
  readonly maxWaiting?: number;
}

interface Task {
  readonly job: HashingJob;
  readonly resolve: (result: string | boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** The source runs as it is, or bundled: the worker stands beside it either way. */
const WORKER = new URL(
  import.meta.url.endsWith(".ts") ? "./hashing-worker.ts" : "./hashing-worker.js",
  import.meta.url,
);

/**
 * Hashes passwords on threads of their own, which are started when they are first needed and stay.
 *
 * A hash takes a core for some 10 ms, and 19 MiB. On libuv's pool, which reads files and looks up names, everybody would
 * wait behind the logins; here only logins do, and a thread goes from one hash to the next without waiting for the loop.
 */
export class HashingThreads {
  readonly #maxThreads: number;
  readonly #maxWaiting: number;
  readonly #threads = new Set<HashingThread>();
  readonly #waiting: Task[] = [];

  constructor({ threads, maxWaiting }: HashingThreadsOptions = {}) {
    this.#maxThreads = threads ?? Math.min(availableParallelism(), MAX_THREADS);
    this.#maxWaiting = maxWaiting ?? this.#maxThreads * MAX_WAITING_PER_THREAD;
  }

  /**
   * Has a job done as soon as there is a thread for it, in the order of arrival.
   *
   * @throws `E_OVERLOADED` (503, `Retry-After: 1`) where the line is full: a login that is answered after its sender has
   * given up costs as much as any other. `E_MISSING_PACKAGE`; `E_INTERNAL` where the thread ended without an answer
   */
  run(job: HashingJob): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      const task: Task = { job, resolve, reject };
      const thread = this.#freeThread();
      if (thread !== null) thread.take(task);
      else if (this.#waiting.length < this.#maxWaiting) this.#waiting.push(task);
      else reject(new AshlarError("E_OVERLOADED", undefined, { headers: { "Retry-After": "1" } }));
    });
  }

  /** The thread that has least to do, a new one where all have something; `null` where none can take a job. */
  #freeThread(): HashingThread | null {
    let free: HashingThread | null = null;
    for (const thread of this.#threads) {
      if (free === null || thread.load < free.load) free = thread;
    }
    if (free === null || (free.load > 0 && this.#threads.size < this.#maxThreads)) return this.#start();
    return free.load <= JOBS_AHEAD ? free : null;
  }

  #start(): HashingThread {
    const thread = new HashingThread({
      next: () => this.#waiting.shift(),
      ended: () => {
        this.#threads.delete(thread);
        this.#goOn();
      },
    });
    this.#threads.add(thread);
    return thread;
  }

  /** Finds other threads for those who waited for one that has ended. */
  #goOn(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      if (thread === null) return;
      thread.take(this.#waiting.shift()!);
    }
  }
}

interface HashingThreadListener {
  /** Gives the job to go on with, if there is one. */
  next(): Task | undefined;
  /** Told when the thread has ended, which it does only where something is wrong. */
  ended(): void;
}

/** One thread, and the jobs it has been given. It answers them in their order. */
class HashingThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #tasks: Task[] = [];
  readonly #listener: HashingThreadListener;
  #error: unknown = null;

  constructor(listener: HashingThreadListener) {
    this.#listener = listener;
    // A channel of its own: under --watch, Node posts messages of its own on the worker's (nodejs/node#65044).
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    // The flags of the process are for the application, which does not run there.
    this.#worker = new Worker(WORKER, {
      name: "password-hash",
      execArgv: [],
      workerData: port2,
      transferList: [port2],
    });
    port1.on("message", (answer: HashingAnswer) => this.#settle(answer));
    port1.unref();
    this.#worker.on("error", (error) => {
      this.#error = error;
    });
    this.#worker.on("exit", () => this.#end());
  }

  /** How many jobs it has been given and not yet answered. */
  get load(): number {
    return this.#tasks.length;
  }

  take(task: Task): void {
    // The process stays for as long as somebody waits for an answer.
    if (this.#tasks.push(task) === 1) this.#worker.ref();
    this.#port.postMessage(task.job);
  }

  #settle(answer: HashingAnswer): void {
    const task = this.#tasks.shift()!;
    const next = this.#listener.next();
    if (next !== undefined) this.take(next);
    else if (this.#tasks.length === 0) this.#worker.unref();
    finish(task, answer);
  }

  #end(): void {
    // The end of a thread can overtake the answers that it sent before.
    for (let one = receiveMessageOnPort(this.#port); one !== undefined; one = receiveMessageOnPort(this.#port)) {
      finish(this.#tasks.shift()!, one.message as HashingAnswer);
    }
    this.#port.close();
    for (const task of this.#tasks) task.reject(failure("E_INTERNAL", this.#error));
    this.#listener.ended();
  }
}

function finish(task: Task, answer: HashingAnswer): void {
  if ("result" in answer) task.resolve(answer.result);
  else task.reject(failure(answer.code, answer.error));
}

function failure(code: ErrorCode, cause: unknown): AshlarError {
  const message =
    code === "E_INTERNAL" ? "A password could not be hashed or verified: its thread failed." : (cause as Error).message;
  return new AshlarError(code, message, { cause });
}
