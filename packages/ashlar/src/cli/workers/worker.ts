import cluster from "node:cluster";
import type { Socket } from "node:net";
import type { Application } from "../../boot/index.ts";
import type { ConnectionSource } from "../../server/index.ts";
import { AshlarError, ConfigurationError } from "../../support/index.ts";
import { loadApplication } from "../load-application.ts";
import { problemOf, type Terminal } from "../terminal.ts";
import { warnOfPendingMigrations } from "../warn-of-pending-migrations.ts";
import { watchBoot } from "./endless-boot.ts";
import { CLOCK_OFFSET_MS, type FromPrimary, type FromWorker } from "./messages.ts";

/** Sent to all processes of a terminal or a service. The primary process obeys them, and says what that means here. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const NEVER_BOOTS =
  "The application never finishes its boot: it awaits something that can't come. Does app.ts import a module that imports app.ts?";

/** Where to serve, as given on the command line. */
export interface WorkerOptions {
  readonly port?: number;
  readonly host?: string;
}

/**
 * Serves an application on the connections that the primary process hands over, until that says otherwise.
 *
 * @param count how many workers there are
 * @throws `E_INVALID_CONFIGURATION` if the application is told of fewer processes
 */
export async function serveAsWorker(terminal: Terminal, count: number, options: WorkerOptions): Promise<void> {
  for (const signal of SIGNALS) process.on(signal, () => {});
  let running: Application | null = null;
  let take: (socket: Socket, acceptedAt: number) => void = (socket) => socket.destroy();
  /** Why it ends by itself, if it does. */
  let reason: string | null = null;
  let isClosing = false;
  /** Resolves when no more connections will come. */
  const closed = Promise.withResolvers<void>();
  process.on("uncaughtExceptionMonitor", (error: unknown) => {
    reason ??= messageOf(error);
  });
  const end = async (exitCode: 0 | 1, drains: boolean, withinSeconds?: number): Promise<void> => {
    closed.resolve();
    const cutOff = (await running?.stop({ drains, ...(withinSeconds !== undefined && { withinSeconds }) })) ?? {};
    // After an unhandled error it is 1 already.
    process.exit(Object.keys(cutOff).length > 0 ? 1 : (process.exitCode ?? exitCode));
  };
  // Such as a provider whose own port is in use.
  const fail = async (error: unknown): Promise<void> => {
    terminal.printError(problemOf(error));
    await tellReason(error);
    void end(1, false);
  };
  const serve = async (
    application: Application,
    at: Pick<ConnectionSource, "port" | "socket">,
    isFirst: boolean,
  ): Promise<void> => {
    const { hostname } = addressOf(application, options);
    const receive: ConnectionSource["receive"] = (taken) => {
      take = taken;
    };
    const close = (): Promise<void> => {
      isClosing = true;
      tell({ type: "closing", reason });
      return closed.promise;
    };
    const source = { ...at, receive, close };
    const { url, socket } = await application.listen({
      source,
      isAnnounced: true,
      ...(hostname !== null && { hostname }),
    });
    if (isClosing) return;
    tell({ type: "serving", url: socket ?? url });
    if (isFirst) await warnOfPendingMigrations(application);
  };
  process.on("message", (message: FromPrimary, socket?: Socket) => {
    // A connection that was closed on its way arrives without its socket.
    if (message.type === "connection") {
      if (message.head !== undefined) socket?.unshift(Buffer.from(message.head, "latin1"));
      if (socket !== undefined) take(socket, message.acceptedAt - CLOCK_OFFSET_MS);
    } else if (message.type === "ping") tell({ type: "pong" });
    else if (message.type === "serve") serve(running!, message, message.isFirst).catch(fail);
    else if (message.type === "drain") running?.drain(false);
    else if (message.type === "closed") closed.resolve();
    else if (message.type === "retire") {
      running?.drain(true);
      void end(0, true);
    } else if (message.type === "end") void end(0, false, message.withinSeconds);
  });
  // Otherwise Node itself ends a worker at once, without letting it finish anything, before it tells this one.
  cluster.worker?.once("disconnect", () => {
    cluster.worker!.exitedAfterDisconnect = true;
  });
  // The primary process is gone, and with it the port. A shutdown that has begun goes on.
  process.once("disconnect", () => {
    running?.logger.error("The process that started the workers is gone. This one finishes what it has, and ends.");
    void end(1, false);
  });
  const booted = watchBoot(() => void fail(new AshlarError("E_COMMAND", NEVER_BOOTS)));
  running = await loadApplication(terminal.root).catch(async (error: unknown) => {
    await tellReason(error);
    throw error;
  });
  booted();
  const { name, environment, log, processes, server } = running.settings;
  // Security: what may be in the memory of the only process was let through.
  if (processes !== null && processes < count) {
    const problem = `says that there are fewer processes than the ${count} workers: ${processes}.`;
    throw new ConfigurationError(
      "APP.processes or APP_PROCESSES",
      problem,
      "Leave it out, or set the number of all workers.",
    );
  }
  const { drainSeconds, shutdownTimeoutSeconds, waitSeconds } = server;
  const address = addressOf(running, options);
  const times = { drainSeconds, shutdownTimeoutSeconds, waitSeconds };
  tell({ type: "booted", address, log: { name, environment, log }, ...times, shedding: running.shedding });
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

/** Tells why it can't serve, for the log. The standard error stream has the whole error. */
async function tellReason(error: unknown): Promise<void> {
  const reason = messageOf(error);
  // The process is about to end, and would take with it what hasn't been sent.
  if (process.connected)
    await new Promise((sent) => process.send!({ type: "failed", reason } satisfies FromWorker, sent));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Tells the primary process something. If it is gone, `disconnect` follows, and ends this one. */
function tell(message: FromWorker): void {
  process.send?.(message, () => {});
}
