import cluster, { type Worker } from "node:cluster";
import { randomUUID } from "node:crypto";
import { AshlarError } from "../support/index.ts";
import { type Family, refusedConnections, waitingConnections } from "./families.ts";

/** The metrics of one worker of a cluster. */
export interface WorkerFamilies {
  /** The worker's id, as in `cluster.worker.id`. */
  readonly worker: number;
  readonly families: readonly Family[];
}

/** The messages between workers and their primary. */
type Message =
  | { readonly type: "ashlar:metrics:ready" }
  | { readonly type: "ashlar:metrics:collect"; readonly id: string }
  | { readonly type: "ashlar:metrics:read"; readonly id: string }
  | { readonly type: "ashlar:metrics:families"; readonly id: string; readonly families: readonly Family[] }
  | { readonly type: "ashlar:metrics:collected"; readonly id: string; readonly workers: readonly WorkerFamilies[] };

/** The primary's data about a worker, if the primary accepts the connections itself and hands them over. */
export interface PrimaryMetrics {
  /** How many connections the primary has accepted that this worker hasn't taken yet. */
  readonly waiting: (worker: Worker) => number;
  /** How many requests the primary has refused because they waited too long for this worker; default: none. */
  readonly refused?: (worker: Worker) => number;
}

/** How long a worker may take to send its metrics. After that, only the metrics of the other workers are used. */
const WORKER_MS = 2000;
/** How long a worker waits for the metrics of all workers. */
const ALL_MS = 5000;

interface Collection {
  readonly workers: WorkerFamilies[];
  /** The workers that have not sent their metrics yet. */
  readonly missing: Set<number>;
  readonly done: () => void;
}

/**
 * Makes the primary process of a `node:cluster` pass metrics between its workers, so that each of them can report the
 * metrics of all. Call it in the primary, before it forks workers.
 *
 * @param primary the primary's own data; `null` if it hands over each connection at once
 * @returns a function that stops passing metrics
 */
export function relayMetrics(primary: PrimaryMetrics | null = null): () => void {
  const ready = new Set<Worker>();
  const collections = new Map<string, Collection>();
  const gone = (worker: Worker): void => {
    ready.delete(worker);
    for (const collection of collections.values()) settle(collection, worker.id);
  };
  const collect = (asking: Worker, id: string): void => {
    const timer = setTimeout(() => finish(), WORKER_MS).unref();
    const finish = (): void => {
      clearTimeout(timer);
      collections.delete(id);
      if (asking.isConnected()) asking.send({ type: "ashlar:metrics:collected", id, workers: collection.workers });
    };
    const asked = [...ready].filter((worker) => worker.isConnected());
    const known = primary === null ? [] : asked.map((worker) => knownOf(worker, primary));
    const collection: Collection = { workers: known, missing: new Set(asked.map((worker) => worker.id)), done: finish };
    collections.set(id, collection);
    for (const worker of asked) worker.send({ type: "ashlar:metrics:read", id });
  };
  const received = (worker: Worker, message: unknown): void => {
    const told = message as Message;
    if (told.type === "ashlar:metrics:ready") ready.add(worker);
    else if (told.type === "ashlar:metrics:collect") collect(worker, told.id);
    else if (told.type === "ashlar:metrics:families") {
      const collection = collections.get(told.id);
      collection?.workers.push({ worker: worker.id, families: told.families });
      if (collection !== undefined) settle(collection, worker.id);
    }
  };
  cluster.on("message", received).on("disconnect", gone);
  return () => void cluster.off("message", received).off("disconnect", gone);
}

function knownOf(worker: Worker, { waiting, refused = () => 0 }: PrimaryMetrics): WorkerFamilies {
  return { worker: worker.id, families: [waitingConnections(waiting(worker)), refusedConnections(refused(worker))] };
}

function settle({ missing, done }: Collection, worker: number): void {
  if (missing.delete(worker) && missing.size === 0) done();
}

/** The worker's side: sends its metrics to the primary on request, and requests the metrics of all workers. */
export class ClusterMetrics {
  readonly #read: () => Promise<readonly Family[]>;
  readonly #waiting = new Map<string, (workers: readonly WorkerFamilies[]) => void>();
  readonly #received = (message: unknown): void => {
    const told = message as Message;
    if (told.type === "ashlar:metrics:read") {
      void this.#send(told.id);
    } else if (told.type === "ashlar:metrics:collected") this.#waiting.get(told.id)?.(told.workers);
  };

  /** @param read returns the worker's own metrics */
  constructor(read: () => Promise<readonly Family[]>) {
    this.#read = read;
  }

  async #send(id: string): Promise<void> {
    try {
      process.send?.({ type: "ashlar:metrics:families", id, families: await this.#read() });
    } catch {
      // The primary continues without this worker's metrics.
    }
  }

  start(): void {
    process.on("message", this.#received);
    process.send?.({ type: "ashlar:metrics:ready" });
  }

  stop(): void {
    process.off("message", this.#received);
  }

  /**
   * @throws `E_OVERLOADED` (503) if the primary doesn't answer, for example because it doesn't call
   * {@link relayMetrics}
   */
  async collect(): Promise<readonly WorkerFamilies[]> {
    const id = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<readonly WorkerFamilies[]>();
    const problem = "The primary of the cluster did not pass on the metrics of the workers. Call relayMetrics() in it.";
    const timer = setTimeout(() => reject(new AshlarError("E_OVERLOADED", problem)), ALL_MS);
    this.#waiting.set(id, resolve);
    try {
      process.send?.({ type: "ashlar:metrics:collect", id });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }
}

/** Combines the metrics of several workers. Each value gets the label `worker`. */
export function byWorker(workers: readonly WorkerFamilies[]): Family[] {
  const merged = new Map<string, Family>();
  for (const { worker, families } of workers) {
    for (const family of families) {
      const values = family.values.map((one) => ({ ...one, labels: { ...one.labels, worker: String(worker) } }));
      const before = merged.get(family.name)?.values ?? [];
      merged.set(family.name, { ...family, values: [...before, ...values] });
    }
  }
  return [...merged.values()];
}
