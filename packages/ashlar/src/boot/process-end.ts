import { randomUUID } from "node:crypto";
import { type Logger, requestTraces } from "../kernel/index.ts";
import { isStandardOutputBehind } from "./standard-output.ts";

/** An application that ends with its process. */
export interface Ending {
  readonly logger: Logger;
  /** How long its requests may take to finish, and then its providers to shut down, in seconds. */
  readonly timeoutSeconds: number;
  /** Releases everything; must neither reject nor take forever. */
  shutdown(): Promise<void>;
}

/** SIGHUP comes when the terminal, or the connection to the machine, is closed. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** How many errors are logged after the first one. An error in a loop could otherwise fill the disk before the end. */
const MAX_FURTHER_ERRORS = 10;

/** The applications to notify, in the order in which they started to listen. */
const applications = new Set<Ending>();
/** The shutdown that the process waits for; `null` while it runs normally. */
let ending: readonly Ending[] | null = null;
let furtherErrors = 0;

/**
 * Shuts down an application, and all others like it, when the process has to end:
 *
 * - When it is asked to (SIGTERM, SIGINT, SIGHUP), it exits with 0. A second signal has its usual effect: it ends the
 *   process at once.
 * - After an unhandled error, such as that of a promise that was not awaited, it exits with 1. The error may have left
 *   anything half done, so the process does not continue; other pending requests still finish.
 *
 * @returns a function that removes the application; the last one removes the listeners
 */
export function endWithProcess(application: Ending): () => void {
  if (applications.size === 0 && ending === null) {
    for (const signal of SIGNALS) process.on(signal, onSignal);
    // Rejections arrive here too, unless the application has its own listener for them.
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
  end(0);
}

function forgetSignals(): void {
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onError(error: unknown): void {
  process.exitCode = 1;
  if (ending === null) {
    tell("fatal", error, "An error was not handled. The process is shutting down.");
    end(1);
  } else if (furtherErrors++ < MAX_FURTHER_ERRORS) tell("error", error, "Another error was not handled.");
}

/** Logs an error with the id of its request, to the application that handled it. It never throws. */
function tell(level: "fatal" | "error", error: unknown, sentence: string): void {
  const trace = requestTraces.getStore();
  try {
    const logger = trace?.logger ?? [...applications, ...(ending ?? [])][0]!.logger;
    if (trace !== undefined) trace.id ??= randomUUID();
    logger[level]({ err: error, ...(trace !== undefined && { requestId: trace.id }) }, sentence);
    // Node would have printed the error: a log that is silent, or not written, must not make the process end silently.
    if (!logger.isLevelEnabled(level) || isStandardOutputBehind()) console.error(error);
  } catch {
    console.error(error);
  }
}

function end(exitCode: 0 | 1): void {
  if (ending !== null) return;
  ending = [...applications];
  process.exitCode = exitCode;
  // Each provider has its own time limit for shutting down. Together they may not take longer than the requests.
  const seconds = 2 * Math.max(...ending.map(({ timeoutSeconds }) => timeoutSeconds));
  setTimeout(() => process.exit(), seconds * 1000);
  void Promise.all(ending.map((application) => application.shutdown()))
    .then(() => Promise.all([process.stdout, process.stderr].map(written)))
    .finally(() => process.exit());
}

/** Resolves when a stream has written everything: what a slow reader has not read yet would be lost with the process. */
function written(stream: NodeJS.WriteStream): Promise<void> | void {
  if (stream.destroyed || stream.writableLength === 0) return;
  return new Promise((resolve) => stream.write("", () => resolve()));
}
