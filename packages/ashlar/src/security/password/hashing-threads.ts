import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { AshlarError, type ErrorCode } from "../../support/index.ts";
import type { Argon2Parameters } from "./argon2-hash.ts";

/** A job for a thread: verify a password against a hash, or, if the hash is `null`, hash the password. */
export interface HashingJob {
  readonly hash: string | null;
  readonly plain: string;
  /** The parameters for new hashes, and for the work done on an unknown hash. */
  readonly parameters: Argon2Parameters;
  /** A hash like the imported ones, whose work is done for every verification; `null` if there isn't any. */
  readonly imported?: string | null;
}

/** A thread's answer to a job: the result, or the error that prevented it. */
export type HashingResult =
  | { readonly result: string | boolean }
  | { readonly code: ErrorCode; readonly error: unknown };

/** The default maximum of threads: each one takes memory, and this many verify several hundred logins a second. */
const MAX_THREADS = 8;
/** Each thread is given one job ahead, so that it doesn't wait for the event loop between two jobs. */
const JOBS_AHEAD = 1;
/** At some 10 ms a hash, the last job in the queue waits for less than a second. */
const MAX_WAITING_PER_THREAD = 64;

/** Options of {@link HashingThreads}; the defaults suit the machine. */
export interface HashingThreadsOptions {
  /** The maximum number of threads, at least 1; default: one per core, up to 8. */
  readonly threads?: number;
  /** How many jobs may wait for a thread; the next one fails with `E_OVERLOADED`. Default: 64 per thread. */
  readonly maxWaiting?: number;
}

/** The queue of passwords to hash. */
export interface HashingUsage {
  /** How many are with a thread: the one being hashed, and the next. */
  readonly running: number;
  /** How many wait for a thread. */
  readonly waiting: number;
}

interface Task {
  readonly job: HashingJob;
  readonly resolve: (result: string | boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** This runs both as source and bundled: the worker is next to it either way. */
const WORKER = new URL(
  import.meta.url.endsWith(".ts") ? "./hashing-worker.ts" : "./hashing-worker.js",
  import.meta.url,
);

/**
 * Hashes passwords on dedicated threads, which start when they are first needed and stay.
 *
 * A hash takes a core for some 10 ms, and 19 MiB. On libuv's pool, which reads files and resolves names, everything
 * would wait behind the logins; here only logins do, and a thread goes from one hash to the next without waiting for
 * the event loop.
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

  /** How many jobs the threads have, and how many wait for one. */
  get usage(): HashingUsage {
    let running = 0;
    for (const thread of this.#threads) running += thread.load;
    return { running, waiting: this.#waiting.length };
  }

  /**
   * Runs a job on the next free thread (FIFO).
   *
   * @throws `E_OVERLOADED` (503, `Retry-After: 1`) if the queue is full: a login that completes after its client has
   * left costs as much as any other. `E_MISSING_PACKAGE`; `E_INTERNAL` if the thread ended without a result
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

  /** Returns the least busy thread, or a new one if all are busy; `null` if none can take a job. */
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

  /** Finds other threads for the jobs of one that has ended. */
  #goOn(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      if (thread === null) return;
      thread.take(this.#waiting.shift()!);
    }
  }
}

interface HashingThreadListener {
  /** Returns the next job, if there is one. */
  next(): Task | undefined;
  /** Called when the thread has ended, which only happens on failure. */
  ended(): void;
}

/** One thread and the jobs it was given, which it does in order. */
class HashingThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #tasks: Task[] = [];
  readonly #listener: HashingThreadListener;
  #error: unknown = null;

  constructor(listener: HashingThreadListener) {
    this.#listener = listener;
    // A separate channel: under --watch, Node posts its own messages on the worker's channel (nodejs/node#65044).
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    // The process's flags are meant for the application, which does not run in this thread.
    this.#worker = new Worker(WORKER, {
      name: "password-hash",
      execArgv: [],
      workerData: port2,
      transferList: [port2],
    });
    port1.on("message", (result: HashingResult) => this.#settle(result));
    port1.unref();
    this.#worker.on("error", (error) => {
      this.#error = error;
    });
    this.#worker.on("exit", () => this.#end());
  }

  /** How many of its jobs are unfinished. */
  get load(): number {
    return this.#tasks.length;
  }

  take(task: Task): void {
    // The process stays alive while a job is unfinished.
    if (this.#tasks.push(task) === 1) this.#worker.ref();
    this.#port.postMessage(task.job);
  }

  #settle(result: HashingResult): void {
    const task = this.#tasks.shift()!;
    const next = this.#listener.next();
    if (next !== undefined) this.take(next);
    else if (this.#tasks.length === 0) this.#worker.unref();
    finish(task, result);
  }

  #end(): void {
    // The thread's exit can overtake the results it sent before.
    for (let one = receiveMessageOnPort(this.#port); one !== undefined; one = receiveMessageOnPort(this.#port)) {
      finish(this.#tasks.shift()!, one.message as HashingResult);
    }
    this.#port.close();
    for (const task of this.#tasks) task.reject(failure("E_INTERNAL", this.#error));
    this.#listener.ended();
  }
}

function finish(task: Task, result: HashingResult): void {
  if ("result" in result) task.resolve(result.result);
  else task.reject(failure(result.code, result.error));
}

function failure(code: ErrorCode, cause: unknown): AshlarError {
  const message =
    code === "E_INTERNAL" ? "A password could not be hashed or verified: its thread failed." : (cause as Error).message;
  return new AshlarError(code, message, { cause });
}
