import type { Worker } from "node:cluster";
import type { Socket } from "node:net";
import type { Logger } from "../../kernel/index.ts";
import type { WorkerLine } from "./admission.ts";
import type { Distribution } from "./distribution.ts";
import type { Booted } from "./messages.ts";
import { Stall } from "./stall.ts";
import { WorkerChannel } from "./worker-channel.ts";

/** How much longer than its own deadline a worker's shutdown may take before it is killed, in milliseconds. */
const GRACE_MS = 3000;

/** The dependencies of a {@link Member}. */
export interface MemberDependencies {
  /** How long it may not respond, in milliseconds. */
  readonly stallMs: number;
  /** How long it may take to boot, in milliseconds. */
  readonly bootMs: number;
  /** The log; `null` before the first worker has booted. */
  readonly logger: () => Logger | null;
  /** Hands connections over; `null` before the first worker has booted. */
  readonly distribution: () => Distribution | null;
}

/** A worker process, as its primary process sees it. */
export class Member {
  readonly worker: Worker;
  readonly channel: WorkerChannel;
  /** When it began to take connections; `null` before that. */
  servingSince: number | null = null;
  /** Whether it gets no connections, because it is ending or not ready to serve yet. */
  isApart = false;
  /** Whether it was killed before it served. */
  isKilled = false;
  /** The reason that it gave for not being able to serve; `null` if it hasn't given one. */
  reason: string | null = null;
  /** Its report about its application; `null` before it has booted. */
  booted: Booted | null = null;
  /** Decides which of the connections that wait for it are refused; `null` before it has booted. */
  line: WorkerLine | null = null;
  /** Its successor in a roll; `null` outside of one. */
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

  /** Whether it takes connections. */
  get isServing(): boolean {
    return this.servingSince !== null && !this.isApart && this.worker.isConnected();
  }

  /** Whether the log already says that it is killed, and why. */
  get isLogged(): boolean {
    return this.#isLogged;
  }

  /** How long it has taken connections, in milliseconds; 0 if it never has. */
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

  /** The members that all log lines about it have. */
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

  /** Waits until it has ended, and kills it if that takes longer than the given time and a few seconds. */
  async endWithin(seconds: number): Promise<void> {
    const late = setTimeout(() => this.kill("A worker did not end in time."), seconds * 1000 + GRACE_MS);
    await this.ended;
    clearTimeout(late);
  }

  /** It hangs. Its connections that weren't sent yet go to the others, and it is replaced. */
  #stalled(): void {
    const { waiting } = this.channel;
    this.kill(`A worker has not responded for ${this.#dependencies.stallMs / 1000} seconds.`, { waiting });
  }
}
