import cluster, { type Worker } from "node:cluster";
import { createLogger } from "../../boot/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { relayMetrics } from "../../metrics/index.ts";
import { acceptWaiting, type Listens, STILL_COMING } from "../../server/index.ts";
import type { Terminal } from "../terminal.ts";
import { Distribution } from "./distribution.ts";
import { Member } from "./member.ts";
import type { Booted, FromWorker } from "./messages.ts";
import { ReleaseFolder } from "./release-folder.ts";
import { Restarts } from "./restarts.ts";
import { STALL_MS } from "./stall.ts";
import { MAX_WAITING } from "./waiting-line.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** How long a replacement may take to boot in addition to its wait for the database, in milliseconds. */
const BOOT_RESERVE_MS = 60_000;
/** The share of the shutdown time for connections that are still waiting. */
const SEND_SHARE = 0.5;

/** Options of a {@link Primary}. */
export interface PrimaryOptions {
  /** How long a worker may go without responding, in milliseconds. */
  readonly stallMs?: number;
  /** How long a replacement may take to boot in addition to its wait for the database, in milliseconds. */
  readonly bootMs?: number;
  /** How many connections may wait for each worker. */
  readonly maxWaiting?: number;
  /** The descriptor of the socket to listen on, if another program has opened it. */
  readonly fd?: number | null;
  /**
   * The symbolic link to the application's folder, which each roll follows again; default: none, so that workers run in the
   * terminal's folder.
   */
  readonly link?: string | null;
}

/**
 * Serves an application in several processes: accepts connections and hands each to the next worker, replaces workers that
 * die, and rolls the workers on SIGHUP. It doesn't run the application's code. SIGTERM and SIGINT end it.
 *
 * This process accepts the connections itself. The port stays open while workers are replaced, and during shutdown, no
 * connection is accepted after the last worker has ended.
 */
export class Primary {
  readonly #terminal: Terminal;
  readonly #count: number;
  readonly #stallMs: number;
  readonly #bootReserveMs: number;
  readonly #maxWaiting: number;
  readonly #fd: number | null;
  readonly #args: readonly string[];
  readonly #folder: ReleaseFolder;
  readonly #members = new Set<Member>();
  readonly #restarts = new Restarts();
  /** The first worker's report about its application. */
  #booted: Booted | null = null;
  #logger: Logger | null = null;
  #listening: Promise<Listens> | null = null;
  /** Set once the first worker has reported its settings. */
  #distribution: Distribution | null = null;
  /** The signal that ends this process, or `failed` if its workers can't boot. */
  #ending: string | null = null;
  #hasServed = false;
  #exitCode: 0 | 1 = 0;
  #rolling: Promise<void> = Promise.resolve();

  /**
   * @param count the number of workers
   * @param args the arguments of `ashlar serve` for each worker
   */
  constructor(terminal: Terminal, count: number, args: readonly string[], options: PrimaryOptions = {}) {
    this.#terminal = terminal;
    this.#count = count;
    this.#stallMs = options.stallMs ?? STALL_MS;
    this.#bootReserveMs = options.bootMs ?? BOOT_RESERVE_MS;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#fd = options.fd ?? null;
    const memberOf = (worker: Worker) => [...this.#members].find((one) => one.worker === worker);
    relayMetrics({
      waiting: (worker) => memberOf(worker)?.channel.waiting ?? 0,
      refused: (worker) => memberOf(worker)?.line?.refused ?? 0,
    });
    this.#args = ["serve", "--worker", String(count), ...args];
    this.#folder = new ReleaseFolder(terminal.root, options.link ?? null);
    this.#setUp();
  }

  /** Starts the workers. The first one boots before the others start, so that an error is reported only once. */
  start(): void {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    process.on("SIGHUP", () => {
      if (this.#ending === null) this.#rolling = this.#rolling.then(() => this.#roll());
    });
    this.#start();
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    for (const one of SIGNALS) process.off(one, this.#onSignal).on(one, this.#onSecondSignal);
    void this.#end(signal);
  };

  /**
   * Ends this process at once, as the signal does by default. Also ends its workers, which would otherwise finish their
   * requests.
   */
  readonly #onSecondSignal = (signal: NodeJS.Signals): void => {
    for (const one of SIGNALS) process.off(one, this.#onSecondSignal);
    for (const { worker } of this.#members) worker.kill("SIGKILL");
    process.kill(process.pid, signal);
  };

  /** Makes workers that start from now on run in the current folder, with the version of Ashlar that is installed there. */
  #setUp(): void {
    cluster.setupPrimary({ exec: this.#folder.command, args: [...this.#args], cwd: this.#folder.current });
  }

  #start(): Member {
    const worker = cluster.fork();
    const member = new Member(worker, {
      stallMs: this.#stallMs,
      bootMs: (this.#booted?.waitSeconds ?? 0) * 1000 + this.#bootReserveMs,
      logger: () => this.#logger,
      distribution: () => this.#distribution,
    });
    this.#members.add(member);
    // The first worker may boot for as long as it needs: the developer sees its output in the terminal. Its report then
    // says how long the others may wait for the database.
    if (this.#booted !== null) member.limitBoot();
    worker.on("message", (message: FromWorker) => {
      if (message.type === "booted") void this.#admit(member, message);
      else if (message.type === "failed") member.reason = message.reason;
      else if (message.type === "pong") member.channel.ponged();
      else if (message.type === "closing") this.#closing(member, message.reason);
      // Metrics use the same channel; see `relayMetrics`.
      else if (message.type === "serving") this.#serves(member, message.url);
    });
    // A message can't be delivered if the worker has ended, or is about to.
    worker.on("error", (error) => this.#logger?.debug({ err: error, worker: worker.id }, "A worker was not reached."));
    worker.once("exit", (code, signal) => this.#died(member, code, signal));
    return member;
  }

  /**
   * Lets a worker serve after its application has booted. The first worker's report contains the address to listen on.
   */
  async #admit(member: Member, booted: Booted): Promise<void> {
    const isFirst = this.#booted === null;
    member.booted = booted;
    this.#booted ??= booted;
    this.#logger ??= createLogger(booted.log);
    this.#distribution ??= this.#distribute(booted, this.#logger);
    member.line = this.#distribution.admission.line();
    this.#listening ??= this.#distribution.listen(booted.address, this.#fd);
    try {
      const { port, socket } = await this.#listening;
      void member.channel.tell({ type: "serve", port, socket, isFirst });
    } catch (error) {
      this.#terminal.printError(error instanceof Error ? error.message : String(error));
      this.#exitCode = 1;
      await this.#end("failed");
    }
  }

  #distribute({ shedding }: Booted, logger: Logger): Distribution {
    const waitMs = this.#stallMs * 2;
    const distribution = new Distribution({
      ...{ members: this.#members, maxWaiting: this.#maxWaiting, waitMs },
      ...{ shedding, logger },
    });
    if (this.#ending !== null) distribution.end();
    return distribution;
  }

  #serves(member: Member, url: string): void {
    member.startedServing();
    this.#restarts.booted();
    this.#distribution!.handOverWaiting();
    if (this.#hasServed) return;
    this.#hasServed = true;
    const { name, environment } = this.#booted!.log;
    const line = `${name} is listening on ${url}`;
    const at = /^https?:/.test(url) ? { url } : { socket: url };
    if (environment === "production") this.#logger!.info({ ...at, workers: this.#count }, line);
    else this.#terminal.print(line);
    if (this.#ending !== null) return;
    for (let count = 1; count < this.#count; count++) this.#start();
  }

  #died(member: Member, code: number, signal: string): void {
    const { isApart, isKilled } = member;
    this.#members.delete(member);
    for (const socket of member.died()) this.#distribution!.handOver(socket);
    if (this.#ending !== null && code !== 0 && !isKilled) this.#exitCode = 1;
    const line = { ...member.facts, code, signal };
    if (this.#ending !== null || isApart || this.#isBeingReplaced(member)) {
      if (this.#isUnreported(member, code, signal)) this.#logger?.error(line, "A worker ended unexpectedly.");
      return;
    }
    if (!this.#hasServed) {
      // The worker has already printed its error to standard error.
      if (signal !== null) this.#terminal.printError(`The application was ended by ${signal} while it booted.`);
      this.#exitCode = 1;
      void this.#end("failed");
      return;
    }
    this.#replace(member, line, "A worker ended unexpectedly.");
  }

  /** Whether a worker that was supposed to end has failed, and that hasn't been logged yet. */
  #isUnreported({ isApart, isKilled, isLogged }: Member, code: number, signal: string | null): boolean {
    // A retired worker has already logged the requests that were cut off.
    const hasFailed = signal !== null || (this.#ending === null && !isApart && code !== 0);
    return hasFailed && !isKilled && !isLogged;
  }

  /**
   * Retires a worker that takes no more connections, and replaces it, unless it ends because this process requested it.
   */
  #closing(member: Member, reason: string | null): void {
    const isByItself = member.servingSince !== null && !member.isApart && this.#ending === null;
    member.reason ??= reason;
    if (member.servingSince !== null) this.#distribution!.setApart(member);
    void member.channel.tell({ type: "closed" });
    if (!isByItself) return;
    void member.endWithin(member.booted!.shutdownTimeoutSeconds);
    const problem = "A worker shuts down by itself.";
    if (this.#isBeingReplaced(member)) this.#logger!.error(member.facts, problem);
    else this.#replace(member, member.facts, problem);
  }

  /** Whether a roll has started its successor. */
  #isBeingReplaced({ successor }: Member): boolean {
    return successor !== null && this.#members.has(successor);
  }

  /** Replaces a worker that has ended, or is about to. If too many replacements fail to boot, ends the process. */
  #replace({ servedMs, servingSince }: Member, line: object, problem: string): void {
    const isLast = ![...this.#members].some((other) => other.servingSince !== null && !other.isApart);
    const pauseMs = this.#restarts.after({ hasServed: servingSince !== null, servedMs, isLast });
    if (pauseMs === null) {
      this.#logger!.fatal(line, "Workers can't boot anymore. The process is shutting down.");
      this.#exitCode = 1;
      void this.#end("failed");
      return;
    }
    this.#logger!.error({ ...line, restartInMs: pauseMs }, `${problem} It is replaced.`);
    setTimeout(() => this.#ending ?? this.#start(), pauseMs);
  }

  /** Replaces the workers one by one. Each new one serves before an old one drains. */
  async #roll(): Promise<void> {
    if (this.#ending !== null) return;
    const before = this.#folder.current;
    try {
      this.#folder.follow();
    } catch (error) {
      this.#logger?.error({ err: error }, "The application's folder can't be read. The workers are not replaced.");
      return;
    }
    this.#setUp();
    const from = this.#folder.isLink ? { folder: this.#folder.current } : {};
    this.#logger?.info(from, "Replacing the workers.");
    for (const old of [...this.#members].filter(({ isApart }) => !isApart)) {
      // If the worker has died in the meantime, its replacement already runs the current code.
      if (!this.#goesOn(old)) continue;
      const member = this.#start();
      old.successor = member;
      // While the new worker is set apart, it isn't replaced if it can't boot, and the old one continues serving.
      member.isApart = true;
      const serves = await member.serves;
      member.isApart = false;
      if (this.#ending !== null) return;
      if (!serves) {
        this.#logger?.error(member.facts, "A new worker could not boot. The others continue serving.");
        this.#folder.current = before;
        this.#setUp();
        // The old worker has died in the meantime, and wasn't replaced because it had a successor.
        if (!this.#goesOn(old)) this.#start();
        return;
      }
      await this.#retire(old);
      if (this.#ending !== null) return;
    }
    this.#logger?.info(from, "The workers have been replaced.");
  }

  /** Lets a worker finish its requests, and kills it if it doesn't end in time. */
  async #retire(old: Member): Promise<void> {
    if (!this.#goesOn(old)) {
      await old.ended;
      return;
    }
    this.#distribution!.setApart(old);
    // The time starts when the worker receives the message, which may wait behind a connection that is being sent.
    await Promise.race([old.channel.tell({ type: "retire" }), old.ended]);
    // A worker that is still booting hasn't reported its timeouts.
    const { drainSeconds, shutdownTimeoutSeconds } = old.booted ?? this.#booted!;
    await old.endWithin(drainSeconds + shutdownTimeoutSeconds);
  }

  /** Whether a worker is alive, and not about to end. */
  #goesOn(member: Member): boolean {
    return this.#members.has(member) && !member.isApart;
  }

  async #end(reason: string): Promise<void> {
    if (this.#ending !== null) return;
    this.#ending = reason;
    this.#distribution?.end();
    if (reason !== "failed") this.#logger?.info({ signal: reason }, "Shutting down.");
    // During a roll, workers may run different versions, with different timeouts.
    const booted = [...this.#members].flatMap((member) => member.booted ?? []);
    const drainSeconds = Math.max(0, ...booted.map((one) => one.drainSeconds));
    const shutdownTimeoutSeconds = Math.max(0, ...booted.map((one) => one.shutdownTimeoutSeconds));
    for (const member of this.#members) {
      member.isKilled = member.servingSince === null;
      if (member.isKilled) member.worker.kill("SIGKILL");
      else void member.channel.tell({ type: "drain" });
    }
    await this.#stopListening(drainSeconds);
    this.#distribution?.closeWaiting();
    const ended = [...this.#members].map((member) => member.endWithin(shutdownTimeoutSeconds));
    await Promise.all([...this.#members].map((member) => this.#tellEnd(member, shutdownTimeoutSeconds * 1000)));
    await Promise.all(ended);
    this.#distribution?.stop();
    process.exit(this.#distribution?.hasLost ? 1 : this.#exitCode);
  }

  /** Closes the servers once load balancers have noticed, and all connections that have arrived are accepted. */
  async #stopListening(drainSeconds: number): Promise<void> {
    const listening = await this.#listening?.catch(() => null);
    if (!listening) return;
    if (this.#members.size > 0) await new Promise((resolve) => setTimeout(resolve, drainSeconds * 1000));
    if (!(await acceptWaiting(listening.listening[0]!))) this.#logger!.warn(STILL_COMING);
    for (const server of listening.listening) server.close();
  }

  /** Tells a worker to end once all waiting connections have been sent to it, or once half of the time has passed. */
  async #tellEnd({ channel }: Member, timeoutMs: number): Promise<void> {
    const endsAt = performance.now() + timeoutMs;
    this.#distribution?.lost(await channel.finish(timeoutMs * SEND_SHARE));
    void channel.tell({ type: "end", withinSeconds: Math.ceil((endsAt - performance.now()) / 1000) });
  }
}
