import cluster, { type Worker } from "node:cluster";
import { createServer, type Socket } from "node:net";
import { createLogger } from "../../boot/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { relayMetrics } from "../../metrics/index.ts";
import { acceptWaiting, type Listens, listen, STILL_COMING } from "../../server/index.ts";
import type { Terminal } from "../terminal.ts";
import { Admission, type WorkerLine } from "./admission.ts";
import type { Booted, FromWorker } from "./messages.ts";
import { ReleaseFolder } from "./release-folder.ts";
import { Restarts } from "./restarts.ts";
import { STALL_MS, Stall } from "./stall.ts";
import { MAX_WAITING, WaitingLine } from "./waiting-line.ts";
import { WorkerChannel } from "./worker-channel.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** How much longer than its own deadline a worker's shutdown may take before it is killed, in milliseconds. */
const GRACE_MS = 3000;
/** How long a replacement may take to boot in addition to its wait for the database, in milliseconds. */
const BOOT_RESERVE_MS = 60_000;
/** The share of the shutdown's time that waiting connections may take. */
const SEND_SHARE = 0.5;
/** How long closed connections are counted before they are logged, in milliseconds. */
const COUNT_MS = 1000;
/** How often the queues of workers that take no connections are checked, in milliseconds. */
const LATE_MS = 100;

/** A process that serves, or is about to. */
interface Member {
  readonly worker: Worker;
  /** When it began to take connections; `null` before that. */
  servingSince: number | null;
  /** Whether it gets no connections, because it is ending or not ready to serve yet. */
  isApart: boolean;
  /** Whether it was killed before it served. */
  isKilled: boolean;
  /** Whether the killing, or its reason, has been logged already. */
  isLogged: boolean;
  /** Its own reason why it can't serve; `null` if it hasn't given one. */
  reason: string | null;
  /** Its report about its application; `null` before it has booted. */
  booted: Booted | null;
  /** Notices that it never boots. */
  readonly boot: Stall;
  readonly channel: WorkerChannel;
  /** Decides which of the connections that wait for it are refused; `null` before it has booted. */
  line: WorkerLine | null;
  /** Its successor in a roll; `null` outside of one. */
  successor: Member | null;
  /** Resolves with `true` when it takes connections, or when it has ended before that. */
  readonly serves: PromiseWithResolvers<boolean>;
  readonly ended: PromiseWithResolvers<void>;
}

/**
 * Serves an application in several processes: accepts the connections and hands each to the next worker, replaces workers
 * that die, and rolls them on SIGHUP. It doesn't run the application's code. SIGTERM and SIGINT end it.
 *
 * Connections are accepted here, so that the port stays open as long as this process lives, and so that, at the end,
 * none is accepted for which no worker is left.
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
  readonly #waiting: WaitingLine;
  /** The first worker's report about its application. */
  #booted: Booted | null = null;
  #logger: Logger | null = null;
  #listening: Promise<Listens> | null = null;
  /** Set once the first worker has reported its settings. */
  #admission: Admission | null = null;
  /** The signal that ends this process, or `failed` if its workers can't boot. */
  #ending: string | null = null;
  #hasServed = false;
  #exitCode: 0 | 1 = 0;
  /** How many connections were closed since that was last logged. */
  #closed = 0;
  #next = 0;
  #rolling: Promise<void> = Promise.resolve();

  /**
   * @param count how many workers
   * @param args the arguments of `ashlar serve` for each
   * @param options `stallMs`: how long a worker may not respond, in milliseconds; `bootMs`: how long a replacement may
   * take to boot in addition to its wait for the database; `maxWaiting`: how many connections may wait for each worker;
   * `fd`: the descriptor of the socket to listen on, if another program has opened it; `link`: the symbolic link to the
   * application's folder, which each roll follows, instead of the folder that the command runs in
   */
  constructor(
    terminal: Terminal,
    count: number,
    args: readonly string[],
    options: {
      readonly stallMs?: number;
      readonly bootMs?: number;
      readonly maxWaiting?: number;
      readonly fd?: number | null;
      readonly link?: string | null;
    } = {},
  ) {
    this.#terminal = terminal;
    this.#count = count;
    this.#stallMs = options.stallMs ?? STALL_MS;
    this.#bootReserveMs = options.bootMs ?? BOOT_RESERVE_MS;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#fd = options.fd ?? null;
    this.#waiting = new WaitingLine(this.#stallMs * 2, (waiting) => {
      const problem = `No worker has taken connections for ${(this.#stallMs * 2) / 1000} seconds.`;
      this.#logger!.error({ waiting }, `${problem} Waiting connections are closed.`);
    });
    const memberOf = (worker: Worker) => [...this.#members].find((one) => one.worker === worker);
    relayMetrics({
      waiting: (worker) => memberOf(worker)?.channel.waiting ?? 0,
      refused: (worker) => memberOf(worker)?.line?.refused ?? 0,
    });
    this.#args = ["serve", "--worker", String(count), ...args];
    this.#folder = new ReleaseFolder(terminal.root, options.link ?? null);
    this.#setUp();
  }

  /** Starts the workers: the first one alone, so that a mistake is reported once. */
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

  /** Has the usual effect of a signal, on the workers as well, which would otherwise finish their requests. */
  readonly #onSecondSignal = (signal: NodeJS.Signals): void => {
    for (const one of SIGNALS) process.off(one, this.#onSecondSignal);
    for (const { worker } of this.#members) worker.kill("SIGKILL");
    process.kill(process.pid, signal);
  };

  /** Makes workers that are started from now on run in the current folder, with the Ashlar that is installed there. */
  #setUp(): void {
    cluster.setupPrimary({ exec: this.#folder.command, args: [...this.#args], cwd: this.#folder.current });
  }

  #start(): Member {
    const worker = cluster.fork();
    const member: Member = {
      worker,
      servingSince: null,
      isApart: false,
      isKilled: false,
      isLogged: false,
      reason: null,
      booted: null,
      boot: new Stall(this.#bootMs, () => this.#neverBooted(member)),
      channel: new WorkerChannel(worker, {
        stallMs: this.#stallMs,
        stalled: () => this.#stalled(member),
        messageFor: (socket, left) => this.#admission!.messageFor(socket, member.line!, left),
        emptied: () => member.line?.delay?.emptied(),
        unsent: (socket) => this.#handOver(socket),
      }),
      line: null,
      successor: null,
      serves: Promise.withResolvers(),
      ended: Promise.withResolvers(),
    };
    this.#members.add(member);
    // Only the first worker's startup shows in the terminal. A later worker's wait for its database is known from the
    // first one's report.
    if (this.#booted !== null) member.boot.waits();
    worker.on("message", (message: FromWorker) => {
      if (message.type === "booted") void this.#admit(member, message);
      else if (message.type === "failed") member.reason = message.reason;
      else if (message.type === "pong") member.channel.ponged();
      else if (message.type === "closing") this.#closing(member, message.reason);
      // Metrics pass through as well; see `relayMetrics`.
      else if (message.type === "serving") this.#serves(member, message.url);
    });
    // The message can't be delivered: its worker has ended, or is about to.
    worker.on("error", (error) => this.#logger?.debug({ err: error, worker: worker.id }, "A worker was not reached."));
    worker.once("exit", (code, signal) => this.#died(member, code, signal));
    return member;
  }

  /** Lets a worker whose application has booted serve. The first one's report says where to listen. */
  async #admit(member: Member, booted: Booted): Promise<void> {
    const isFirst = this.#booted === null;
    member.booted = booted;
    this.#booted ??= booted;
    this.#logger ??= createLogger(booted.log);
    this.#admission ??= new Admission(booted.shedding, this.#logger, (socket) => this.#handOver(socket, true));
    member.line = this.#admission.line();
    this.#listening ??= this.#listen(booted);
    try {
      const { port, socket } = await this.#listening;
      void member.channel.tell({ type: "serve", port, socket, isFirst });
    } catch (error) {
      this.#terminal.printError(error instanceof Error ? error.message : String(error));
      this.#exitCode = 1;
      await this.#end("failed");
    }
  }

  async #listen({ address }: Booted): Promise<Listens> {
    // Nothing is read here: a connection's data is for its worker.
    const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true });
    server.on("connection", (socket) => {
      this.#admission!.accepted(socket);
      this.#handOver(socket);
    });
    setInterval(() => this.#refuseLate(), LATE_MS).unref();
    const found = await listen(server, { ...address, fd: this.#fd, isPaused: true });
    for (const one of found.listening) {
      one.on("error", (error) => this.#logger!.error({ err: error }, "A connection could not be accepted."));
    }
    return found;
  }

  get #bootMs(): number {
    return (this.#booted?.waitSeconds ?? 0) * 1000 + this.#bootReserveMs;
  }

  #neverBooted(member: Member): void {
    this.#kill(member, `A new worker has not booted in ${this.#bootMs / 1000} seconds.`);
  }

  #serves(member: Member, url: string): void {
    member.servingSince = performance.now();
    member.boot.end();
    member.channel.watch();
    this.#restarts.booted();
    member.serves.resolve(true);
    for (const socket of this.#waiting.take()) this.#handOver(socket);
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

  /** The workers that take connections. */
  get #serving(): Member[] {
    return [...this.#members].filter(({ worker, servingSince, isApart }) => {
      return servingSince !== null && !isApart && worker.isConnected();
    });
  }

  /** Refuses connections that have waited too long for workers that take none, such as a worker that computes. */
  #refuseLate(): void {
    for (const { channel, line } of this.#members) {
      if (line !== null) channel.dropFirst((socket) => this.#admission!.refuseLate(socket, line));
    }
  }

  /**
   * Hands a connection to the next of the workers with the shortest queue.
   *
   * @param isNext whether it goes to the front of the queue
   */
  #handOver(socket: Socket, isNext = false): void {
    const serving = this.#serving;
    const fewest = Math.min(...serving.map(({ channel }) => channel.waiting));
    const free = serving.filter(({ channel }) => channel.waiting === fewest);
    const member = free[this.#next++ % free.length];
    if (member !== undefined && fewest < this.#maxWaiting) member.channel.send(socket, isNext);
    else if (member !== undefined) this.#close(socket);
    else if (this.#ending === null) this.#waiting.add(socket);
    else {
      this.#exitCode = 1;
      this.#close(socket);
    }
  }

  /** Closes a connection that no worker takes, and counts it in the log. */
  #close(socket: Socket): void {
    socket.destroy();
    if (this.#closed++ === 0) setTimeout(() => this.#logClosed(), COUNT_MS);
  }

  #logClosed(): void {
    if (this.#closed === 0) return;
    const line = { connections: this.#closed };
    this.#closed = 0;
    const why = this.#serving.length > 0 ? "too many wait for the workers" : "no worker is left";
    this.#logger!.warn(line, `Connections were closed, because ${why}.`);
  }

  /** Reports connections that were closed at shutdown, in the log and in the exit code. */
  #logLost(connections: number): void {
    if (connections === 0) return;
    this.#closed += connections;
    this.#logClosed();
    this.#exitCode = 1;
  }

  /** Kills a worker that hangs: the connections that weren't sent to it yet go to the others, and it is replaced. */
  #stalled(member: Member): void {
    const { waiting } = member.channel;
    this.#kill(member, `A worker has not responded for ${this.#stallMs / 1000} seconds.`, { waiting });
  }

  /** Kills a worker, and says why in the log, unless it has been killed already. */
  #kill(member: Member, problem: string, more: object = {}): void {
    if (member.isLogged) return;
    member.isLogged = true;
    this.#logger!.error({ worker: member.worker.id, ...more }, `${problem} It is killed.`);
    member.worker.kill("SIGKILL");
  }

  #died(member: Member, code: number, signal: string): void {
    const { worker, isApart, isKilled } = member;
    this.#members.delete(member);
    member.boot.end();
    for (const socket of member.channel.end()) this.#handOver(socket);
    member.serves.resolve(false);
    member.ended.resolve();
    if (this.#ending !== null && code !== 0 && !isKilled) this.#exitCode = 1;
    const line = { worker: worker.id, code, signal, ...reasonOf(member) };
    if (this.#ending !== null || isApart || this.#isBeingReplaced(member)) {
      // A retired worker has logged the requests that it cut off.
      const isUntold = signal !== null || (this.#ending === null && !isApart && code !== 0);
      if (isUntold && !isKilled && !member.isLogged) this.#logger?.error(line, "A worker ended unexpectedly.");
      return;
    }
    if (!this.#hasServed) {
      // Its own error is already on standard error.
      if (signal !== null) this.#terminal.printError(`The application was ended by ${signal} while it booted.`);
      this.#exitCode = 1;
      void this.#end("failed");
      return;
    }
    this.#replace(member, line, "A worker ended unexpectedly.");
  }

  /** Retires a worker that takes no more connections, and replaces it, unless it was told to end. */
  #closing(member: Member, reason: string | null): void {
    const isByItself = member.servingSince !== null && !member.isApart && this.#ending === null;
    member.reason ??= reason;
    if (member.servingSince !== null) this.#setApart(member);
    void member.channel.tell({ type: "closed" });
    if (!isByItself) return;
    void this.#endOf(member, member.booted!.shutdownTimeoutSeconds);
    const line = { worker: member.worker.id, ...reasonOf(member) };
    const problem = "A worker shuts down by itself.";
    if (this.#isBeingReplaced(member)) this.#logger!.error(line, problem);
    else this.#replace(member, line, problem);
  }

  /** Whether a roll has started its successor. */
  #isBeingReplaced({ successor }: Member): boolean {
    return successor !== null && this.#members.has(successor);
  }

  /** Starts another worker in place of one that has ended, or is about to; gives up if none can boot. */
  #replace({ servingSince }: Member, line: object, problem: string): void {
    const servedMs = servingSince === null ? 0 : performance.now() - servingSince;
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
      // A worker that died in the meantime was replaced, running the current code.
      if (!this.#goesOn(old)) continue;
      const member = this.#start();
      old.successor = member;
      // If it can't boot, nothing is lost, and there is no second attempt.
      member.isApart = true;
      const serves = await member.serves.promise;
      member.isApart = false;
      if (this.#ending !== null) return;
      if (!serves) {
        const line = { worker: member.worker.id, ...reasonOf(member) };
        this.#logger?.error(line, "A new worker could not boot. The others continue serving.");
        this.#folder.current = before;
        this.#setUp();
        // It died in the meantime, and relied on its successor.
        if (!this.#goesOn(old)) this.#start();
        return;
      }
      await this.#retire(old);
      if (this.#ending !== null) return;
    }
    this.#logger?.info(from, "The workers have been replaced.");
  }

  /** Stops giving a worker connections: those in its queue go to the others. */
  #setApart(member: Member): void {
    member.isApart = true;
    for (const socket of member.channel.withdraw()) this.#handOver(socket);
  }

  /** Lets a worker finish its requests, and kills it if it doesn't end in time, because it hangs. */
  async #retire(old: Member): Promise<void> {
    if (!this.#goesOn(old)) {
      await old.ended.promise;
      return;
    }
    this.#setApart(old);
    // Its time begins when it gets the message, which comes after a connection that is being sent.
    await Promise.race([old.channel.tell({ type: "retire" }), old.ended.promise]);
    // A worker that is still booting has not reported its times.
    const { drainSeconds, shutdownTimeoutSeconds } = old.booted ?? this.#booted!;
    await this.#endOf(old, drainSeconds + shutdownTimeoutSeconds);
  }

  /** Whether a worker is alive and not about to end. */
  #goesOn(member: Member): boolean {
    return this.#members.has(member) && !member.isApart;
  }

  /** Waits for a worker to end, and kills it if it doesn't end in time. */
  async #endOf(member: Member, seconds: number): Promise<void> {
    const late = setTimeout(() => this.#killLate(member), seconds * 1000 + GRACE_MS);
    await member.ended.promise;
    clearTimeout(late);
  }

  #killLate(member: Member): void {
    this.#kill(member, "A worker did not end in time.");
  }

  async #end(reason: string): Promise<void> {
    if (this.#ending !== null) return;
    this.#ending = reason;
    if (reason !== "failed") this.#logger?.info({ signal: reason }, "Shutting down.");
    // Workers of different versions may have different times.
    const booted = [...this.#members].flatMap((member) => member.booted ?? []);
    const drainSeconds = Math.max(0, ...booted.map((one) => one.drainSeconds));
    const shutdownTimeoutSeconds = Math.max(0, ...booted.map((one) => one.shutdownTimeoutSeconds));
    for (const member of this.#members) {
      member.isKilled = member.servingSince === null;
      if (member.isKilled) member.worker.kill("SIGKILL");
      else void member.channel.tell({ type: "drain" });
    }
    const listening = await this.#listening?.catch(() => null);
    if (listening) {
      if (this.#members.size > 0) await new Promise((resolve) => setTimeout(resolve, drainSeconds * 1000));
      if (!(await acceptWaiting(listening.listening[0]!))) this.#logger!.warn(STILL_COMING);
      for (const server of listening.listening) server.close();
    }
    this.#logLost(this.#waiting.close());
    const timeoutMs = shutdownTimeoutSeconds * 1000;
    const late = setTimeout(() => {
      for (const member of this.#members) this.#killLate(member);
    }, timeoutMs + GRACE_MS);
    await Promise.all([...this.#members].map((member) => this.#tellEnd(member, timeoutMs)));
    await Promise.all([...this.#members].map(({ ended }) => ended.promise));
    clearTimeout(late);
    this.#logClosed();
    this.#admission?.stop();
    process.exit(this.#exitCode);
  }

  /** Tells a worker to end, once its queue has been sent, or half of the time is over. */
  async #tellEnd({ channel }: Member, timeoutMs: number): Promise<void> {
    const endsAt = performance.now() + timeoutMs;
    this.#logLost(await channel.finish(timeoutMs * SEND_SHARE));
    void channel.tell({ type: "end", withinSeconds: Math.ceil((endsAt - performance.now()) / 1000) });
  }
}

function reasonOf({ reason }: Member): { readonly reason?: string } {
  return reason === null ? {} : { reason };
}
