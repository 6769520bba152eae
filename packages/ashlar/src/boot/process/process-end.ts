import { randomUUID } from "node:crypto";
import { type Logger, requestTraces } from "../../kernel/index.ts";
import { isStandardOutputBehind } from "../log/standard-output.ts";

/** An application that is shut down when its process ends. */
export interface Ending {
  readonly logger: Logger;
  /** How long its shutdown may take, in seconds. */
  readonly timeoutSeconds: number;
  /** How long it may drain before that, in seconds. */
  readonly drainSeconds: number;
  /**
   * Shuts the application down. Must not reject.
   *
   * @param drains whether the application may continue serving for `drainSeconds` first
   * @returns whether everything was finished
   */
  shutdown(drains: boolean): Promise<boolean>;
}

/** SIGHUP is sent when the terminal, or the connection to the machine, is closed. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** How much longer than its timeout a shutdown may take before the process exits anyway, in seconds, because timers run late. */
const GRACE_SECONDS = 2;
/** How many errors are logged after the first one. Otherwise, an error in a loop could fill the disk during shutdown. */
const MAX_FURTHER_ERRORS = 10;

/** The applications to shut down, in the order in which they started to listen. */
const applications = new Set<Ending>();
/** The shutdown in progress; `null` while the process runs normally. */
let ending: readonly Ending[] | null = null;
let furtherErrors = 0;

/**
 * Shuts an application down when the process has to end, together with all other applications that were passed to this
 * function:
 *
 * - On SIGTERM, SIGINT or SIGHUP, the process drains, shuts down, and exits with 0, or with 1 if something had to be cut off.
 *   A second signal ends the process at once, as it does by default.
 * - After an unhandled error, such as an unhandled rejection, the process exits with 1. The error may have left work half
 *   done, so the process accepts no further requests, but pending ones still finish.
 *
 * @param obeysSignals whether signals end the process; if not, only unhandled errors do
 * @returns a function that removes the application; the last one removes the listeners
 */
export function endWithProcess(application: Ending, obeysSignals = true): () => void {
  if (applications.size === 0 && ending === null) {
    if (obeysSignals) for (const signal of SIGNALS) process.on(signal, onSignal);
    // Unhandled rejections arrive here, too, unless the application has its own listener for them.
    process.on("uncaughtException", onError);
  }
  applications.add(application);
  return () => {
    applications.delete(application);
    if (applications.size > 0 || ending !== null) return;
    forgetSignals();
    process.off("uncaughtException", onError);
  };
}

function onSignal(signal: NodeJS.Signals): void {
  forgetSignals();
  for (const { logger } of applications) logger.info({ signal }, "Shutting down.");
  end(0, true);
}

function forgetSignals(): void {
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onError(error: unknown): void {
  process.exitCode = 1;
  if (ending === null) {
    tell("fatal", error, "An error was not handled. The process is shutting down.");
    end(1, false);
  } else if (furtherErrors++ < MAX_FURTHER_ERRORS) tell("error", error, "Another error was not handled.");
}

/** Logs an error with its request's id, in the log of the application that handled the request. It never throws. */
function tell(level: "fatal" | "error", error: unknown, sentence: string): void {
  const trace = requestTraces.getStore();
  try {
    const logger = trace?.logger ?? [...applications, ...(ending ?? [])][0]!.logger;
    if (trace !== undefined) trace.id ??= randomUUID();
    logger[level]({ err: error, ...(trace !== undefined && { requestId: trace.id }) }, sentence);
    // Without a listener, Node.js would print the error. If the log is silent, or can't be written, it is printed here instead.
    if (!logger.isLevelEnabled(level) || isStandardOutputBehind()) console.error(error);
  } catch {
    console.error(error);
  }
}

function end(exitCode: 0 | 1, drains: boolean): void {
  if (ending !== null) return;
  ending = [...applications];
  process.exitCode = exitCode;
  // A shutdown has its own deadline. This is for a shutdown whose timers don't run, or that never settles.
  const seconds = ending.map(({ timeoutSeconds, drainSeconds }) => timeoutSeconds + (drains ? drainSeconds : 0));
  setTimeout(() => process.exit(1), (Math.max(...seconds) + GRACE_SECONDS) * 1000);
  void Promise.all(ending.map((application) => application.shutdown(drains)))
    .then((finished) => {
      if (finished.includes(false)) process.exitCode = 1;
      return Promise.all([process.stdout, process.stderr].map(written));
    })
    .finally(() => process.exit());
}

/** Resolves when a stream has written everything. Output that a slow reader hasn't read would be lost when the process exits. */
function written(stream: NodeJS.WriteStream): Promise<void> | void {
  if (stream.destroyed || stream.writableLength === 0) return;
  return new Promise((resolve) => stream.write("", () => resolve()));
}
