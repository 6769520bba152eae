import type { Worker } from "node:cluster";
import type { Socket } from "node:net";
import type { Logger } from "../../kernel/index.ts";
import type { WorkerLine } from "./admission.ts";
import type { Distribution } from "./distribution.ts";
import type { Booted } from "./messages.ts";
import { Stall } from "./stall.ts";
import { WorkerChannel } from "./worker-channel.ts";

/**
 * How much longer than its own time limit a worker's shutdown may take before the worker is killed, in milliseconds.
 */
const GRACE_MS = 3000;

/** The dependencies of a {@link Member}. */
export interface MemberDependencies {
  /** How long the worker may go without responding, in milliseconds. */
  readonly stallMs: number;
  /** How long the worker may take to boot, in milliseconds. */
  readonly bootMs: number;
  /** The log; `null` before the first worker has booted. */
  readonly logger: () => Logger | null;
  /** Hands connections over; `null` before the first worker has booted. */
  readonly distribution: () => Distribution | null;
}

/** A worker process, from its primary process's point of view. */
export class Member {
  readonly worker: Worker;
  readonly channel: WorkerChannel;
  /** When it started to take connections; `null` before that. */
  servingSince: number | null = null;
  /** Whether it gets no connections, because it is ending or not ready to serve yet. */
  isApart = false;
  /** Whether it was killed before it served. */
  isKilled = false;
  /** Why it can't serve, as it has reported; `null` if it hasn't reported a reason. */
  reason: string | null = null;
  /** The worker's report about its application; `null` before it has booted. */
  booted: Booted | null = null;
  /** Decides which of the waiting connections are refused; `null` before the worker has booted. */
  line: WorkerLine | null = null;
  /** The worker's successor during a roll, or else `null`. */
  successor: Member | null = null;
  readonly #dependencies: MemberDependencies;
  readonly #boot: Stall;
  readonly #serves = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<void>();
  #isLogged = false;

  constructor(worker: Worker, dependencies: MemberDependencies) {
    const { bootMs, distribution, stallMs } = dependencies;
    this.worker = worker;
    this.#dependencies = dependencies;
    this.#boot = new Stall(bootMs, () => this.kill(`A new worker has not booted in ${bootMs / 1000} seconds.`));
    this.channel = new WorkerChannel(worker, {
      stallMs,
      stalled: () => this.#stalled(),
      messageFor: (socket, left) => distribution()!.admission.messageFor(socket, this.line!, left),
      emptied: () => this.line?.delay?.emptied(),
      unsent: (socket) => distribution()!.handOver(socket),
    });
  }

  /** Whether the worker takes connections. */
  get isServing(): boolean {
    return this.servingSince !== null && !this.isApart && this.worker.isConnected();
  }

  /** Whether it has already been logged that the worker is killed, and why. */
  get isLogged(): boolean {
    return this.#isLogged;
  }

  /** How long it has been taking connections, in milliseconds; 0 if it never has. */
  get servedMs(): number {
    return this.servingSince === null ? 0 : performance.now() - this.servingSince;
  }

  /** Resolves with `true` when it takes connections, or with `false` if it ends before that. */
  get serves(): Promise<boolean> {
    return this.#serves.promise;
  }

  /** Resolves when its process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The members of all log lines about the worker. */
  get facts(): { readonly worker: number; readonly reason?: string } {
    return { worker: this.worker.id, ...(this.reason !== null && { reason: this.reason }) };
  }

  /** Kills it if it doesn't boot in time. */
  limitBoot(): void {
    this.#boot.waits();
  }

  /** Called once it takes connections. */
  startedServing(): void {
    this.servingSince = performance.now();
    this.#boot.end();
    this.channel.watch();
    this.#serves.resolve(true);
  }

  /**
   * Called once its process has ended.
   *
   * @returns the connections that were not sent to it
   */
  died(): readonly Socket[] {
    this.#boot.end();
    this.#serves.resolve(false);
    this.#ended.resolve();
    return this.channel.end();
  }

  /** Kills it, and logs why, unless it has been killed already. */
  kill(problem: string, more: object = {}): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    this.#dependencies.logger()!.error({ worker: this.worker.id, ...more }, `${problem} It is killed.`);
    this.worker.kill("SIGKILL");
  }

  /** Waits until the worker has ended, and kills it if that takes a few seconds longer than the given time. */
  async endWithin(seconds: number): Promise<void> {
    const late = setTimeout(() => this.kill("A worker did not end in time."), seconds * 1000 + GRACE_MS);
    await this.ended;
    clearTimeout(late);
  }

  /** The worker hangs. Connections that weren't sent to it yet go to the others, and it is replaced. */
  #stalled(): void {
    const { waiting } = this.channel;
    this.kill(`A worker has not responded for ${this.#dependencies.stallMs / 1000} seconds.`, { waiting });
  }
}
