import cluster from "node:cluster";
import type { Socket } from "node:net";
import type { Application } from "../../boot/index.ts";
import type { ConnectionSource } from "../../server/index.ts";
import { AshlarError, ConfigurationError } from "../../support/index.ts";
import { loadApplication } from "../load-application.ts";
import { warnOfPendingMigrations } from "../migrations/warn-of-pending-migrations.ts";
import { problemOf, type Terminal } from "../terminal.ts";
import { watchBoot } from "./endless-boot.ts";
import { CLOCK_OFFSET_MS, type ConnectionMessage, type FromPrimary, type FromWorker } from "./messages.ts";

/**
 * Signals that a terminal or a service manager sends to all processes. The primary process handles them, and tells the workers
 * what to do.
 */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const NEVER_BOOTS =
  "The application never finishes its boot: it awaits something that can't come. Does app.ts import a module that imports app.ts?";

type ServeMessage = Extract<FromPrimary, { readonly type: "serve" }>;

/** The address to serve on, from the command line. */
export interface WorkerOptions {
  readonly port?: number;
  readonly host?: string;
}

/**
 * Serves an application on the connections that the primary process hands over, until it is told to end.
 *
 * @param count how many workers there are
 * @throws `E_INVALID_CONFIGURATION` if the application is configured for fewer processes
 */
export async function serveAsWorker(terminal: Terminal, count: number, options: WorkerOptions): Promise<void> {
  for (const signal of SIGNALS) process.on(signal, () => {});
  const worker = new WorkerProcess(terminal, options);
  worker.obeyPrimary();
  const application = await worker.boot();
  requireProcesses(application, count);
  const { serving, settings } = application;
  const { name, environment, log } = settings;
  const { drainSeconds, shutdownTimeoutSeconds, waitSeconds } = settings.server;
  const address = addressOf(application, options);
  const times = { drainSeconds, shutdownTimeoutSeconds, waitSeconds };
  tell({ type: "booted", address, log: { name, environment, log }, ...times, shedding: serving.shedding });
}

/** @throws `E_INVALID_CONFIGURATION` */
function requireProcesses({ settings }: Application, count: number): void {
  const { processes } = settings;
  // Security: an application that is configured for a single process may keep its stores in memory.
  if (processes === null || processes >= count) return;
  const problem = `says that there are fewer processes than the ${count} workers: ${processes}.`;
  const remedy = "Leave it out, or set the number of all workers.";
  throw new ConfigurationError("APP.processes or APP_PROCESSES", problem, remedy);
}

/** A worker's application, which the primary process controls by messages. */
class WorkerProcess {
  readonly #terminal: Terminal;
  readonly #options: WorkerOptions;
  /** Resolves when no more connections will arrive. */
  readonly #closed = Promise.withResolvers<void>();
  #running: Application | null = null;
  #take: (socket: Socket, acceptedAt: number) => void = (socket) => socket.destroy();
  /** Why the worker ends by itself, if it does. */
  #reason: string | null = null;
  #isClosing = false;

  constructor(terminal: Terminal, options: WorkerOptions) {
    this.#terminal = terminal;
    this.#options = options;
  }

  /** Follows the primary process's messages, and ends with it. */
  obeyPrimary(): void {
    process.on("uncaughtExceptionMonitor", (error: unknown) => {
      this.#reason ??= messageOf(error);
    });
    process.on("message", (message: FromPrimary, socket?: Socket) => this.#obey(message, socket));
    // Otherwise, Node.js would end the worker at once, before it could finish its requests.
    cluster.worker?.once("disconnect", () => {
      cluster.worker!.exitedAfterDisconnect = true;
    });
    // The primary process has ended, and has closed the port. A shutdown that is under way continues.
    process.once("disconnect", () => {
      const problem = "The process that started the workers is gone. This one finishes its requests, and ends.";
      this.#running?.logger.error(problem);
      void this.#end(1, false);
    });
  }

  async boot(): Promise<Application> {
    const booted = watchBoot(() => void this.#fail(new AshlarError("E_COMMAND", NEVER_BOOTS)));
    this.#running = await loadApplication(this.#terminal.root).catch(async (error: unknown) => {
      await tellReason(error);
      throw error;
    });
    booted();
    return this.#running;
  }

  #obey(message: FromPrimary, socket?: Socket): void {
    switch (message.type) {
      case "connection":
        this.#takeConnection(message, socket);
        break;
      case "ping":
        tell({ type: "pong" });
        break;
      case "serve":
        this.#serve(this.#running!, message).catch((error: unknown) => this.#fail(error));
        break;
      case "drain":
        this.#running?.drain(false);
        break;
      case "closed":
        this.#closed.resolve();
        break;
      case "retire":
        this.#running?.drain(true);
        void this.#end(0, true);
        break;
      case "end":
        void this.#end(0, false, message.withinSeconds);
    }
  }

  #takeConnection({ head, acceptedAt }: ConnectionMessage, socket?: Socket): void {
    // A connection that was closed in transit arrives without its socket.
    if (socket === undefined) return;
    if (head !== undefined) socket.unshift(Buffer.from(head, "latin1"));
    this.#take(socket, acceptedAt - CLOCK_OFFSET_MS);
  }

  async #serve(application: Application, { port, socket: path, isFirst }: ServeMessage): Promise<void> {
    const { hostname } = addressOf(application, this.#options);
    const receive: ConnectionSource["receive"] = (taken) => {
      this.#take = taken;
    };
    const close = (): Promise<void> => {
      this.#isClosing = true;
      tell({ type: "closing", reason: this.#reason });
      return this.#closed.promise;
    };
    const { url, socket } = await application.listen({
      source: { port, socket: path, receive, close },
      isAnnounced: true,
      ...(hostname !== null && { hostname }),
    });
    if (this.#isClosing) return;
    tell({ type: "serving", url: socket ?? url });
    if (isFirst) await warnOfPendingMigrations(application);
  }

  /** Ends the process for a reason such as a provider's own port being in use. */
  async #fail(error: unknown): Promise<void> {
    this.#terminal.printError(problemOf(error));
    await tellReason(error);
    void this.#end(1, false);
  }

  async #end(exitCode: 0 | 1, drains: boolean, withinSeconds?: number): Promise<void> {
    this.#closed.resolve();
    const limit = withinSeconds === undefined ? {} : { withinSeconds };
    const cutOff = (await this.#running?.stop({ drains, ...limit })) ?? {};
    // After an unhandled error, the exit code is already 1.
    process.exit(Object.keys(cutOff).length > 0 ? 1 : (process.exitCode ?? exitCode));
  }
}

function addressOf({ settings, environment }: Application, { port, host }: WorkerOptions) {
  const { server } = settings;
  const socket = port === undefined ? server.socket : null;
  return {
    port: port ?? server.port,
    socket,
    hostname: host ?? server.hostname,
    isLocal: environment === "development",
  };
}

/** Reports why the worker can't serve, for the primary's log. The complete error is printed to standard error. */
async function tellReason(error: unknown): Promise<void> {
  const reason = messageOf(error);
  // The process is about to end, and unsent messages would be lost.
  if (process.connected)
    await new Promise((sent) => process.send!({ type: "failed", reason } satisfies FromWorker, sent));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Sends the primary process a message. If that process has ended, `disconnect` follows, and ends this one. */
function tell(message: FromWorker): void {
  process.send?.(message, () => {});
}
