import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { AshlarError, type ErrorCode } from "../../support/index.ts";
import type { Argon2Parameters } from "./argon2-hash.ts";

/** A job for a thread: to verify a password against a hash, or, if the hash is `null`, to hash the password. */
export interface HashingJob {
  readonly hash: string | null;
  readonly plain: string;
  /** The parameters for new hashes, and for the work that is done if a hash is unknown. */
  readonly parameters: Argon2Parameters;
  /** An example of an imported hash, whose work is part of every verification; `null` for none. */
  readonly imported?: string | null;
}

/** A thread's response to a job: the result, or the error that prevented it. */
export type HashingResult =
  | { readonly result: string | boolean }
  | { readonly code: ErrorCode; readonly error: unknown };

/**
 * The default maximum number of threads. Each takes memory, and this many can handle several hundred logins per second.
 */
const MAX_THREADS = 8;
/** Each thread gets its next job in advance, so that it doesn't wait for the event loop between two jobs. */
const JOBS_AHEAD = 1;
/** At about 10 ms per hash, the last job in the queue waits less than a second. */
const MAX_WAITING_PER_THREAD = 64;

/** Options of {@link HashingThreads}; the defaults depend on the machine. */
export interface HashingThreadsOptions {
  /** The maximum number of threads, at least 1; default: one per core, up to 8. */
  readonly threads?: number;
  /** How many jobs may wait for a thread. Any more fail with `E_OVERLOADED`. Default: 64 per thread. */
  readonly maxWaiting?: number;
}

/** The state of the queue. */
export interface HashingUsage {
  /** How many jobs the threads have: the current ones, and the next ones. */
  readonly running: number;
  /** How many jobs are waiting for a thread. */
  readonly waiting: number;
}

interface Task {
  readonly job: HashingJob;
  readonly resolve: (result: string | boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** The worker is next to this file in both the source and the bundle. */
const WORKER = new URL(
  import.meta.url.endsWith(".ts") ? "./hashing-worker.ts" : "./hashing-worker.js",
  import.meta.url,
);

/**
 * Hashes passwords on dedicated threads, which start when they are first needed, and keep running.
 *
 * A hash takes about 10 ms of CPU time, and 19 MiB. On libuv's pool, file access and DNS lookups would have to wait for
 * logins. Here, only other logins wait, and a thread continues with the next hash without waiting for the event loop.
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
   * @throws `E_OVERLOADED` (503, `Retry-After: 1`) if the queue is full, because a login costs as much even if its
   * client has already left. `E_MISSING_PACKAGE`; `E_INTERNAL` if the thread ended without a result
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

  /** Returns the least busy thread, or a new one if all are busy; `null` if none has room for a job. */
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

  /** Hands the jobs of a thread that has ended to other threads. */
  #goOn(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      if (thread === null) return;
      thread.take(this.#waiting.shift()!);
    }
  }
}

interface HashingThreadListener {
  /** Returns the next waiting job, if there is one. */
  next(): Task | undefined;
  /** Called when the thread has ended, which only happens on failure. */
  ended(): void;
}

/** One thread and its jobs, which it does in order. */
class HashingThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #tasks: Task[] = [];
  readonly #listener: HashingThreadListener;
  #error: unknown = null;

  constructor(listener: HashingThreadListener) {
    this.#listener = listener;
    // Needs a separate channel, because under --watch, Node posts its own messages on the worker's channel
    // (nodejs/node#65044).
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    // The process's flags are for the application, which doesn't run in this thread.
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
    // The event for the thread's exit can arrive before results that it sent earlier.
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
