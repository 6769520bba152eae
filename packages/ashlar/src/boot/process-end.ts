import { randomUUID } from "node:crypto";
import { type Logger, requestTraces } from "../kernel/index.ts";

/** An application that ends with its process. */
export interface Ending {
  readonly logger: Logger;
  /** How long its requests may take to finish, and then its providers to shut down. */
  readonly timeoutSeconds: number;
  /** Releases everything; it neither rejects nor takes forever. */
  shutdown(): Promise<void>;
}

/** SIGHUP comes when the terminal is closed, or the connection to the machine is. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** How many errors are logged that follow the first one. What fails in a loop would fill the disk before the end. */
const MAX_FURTHER_ERRORS = 10;

/** The applications that are told, in the order in which they began to listen. */
const applications = new Set<Ending>();
/** Those that are ending with the process; `null` while it goes on. */
let ending: readonly Ending[] | null = null;
let furtherErrors = 0;

/**
 * Ends an application, and all others like it, when the process has to end:
 *
 * - When it is told to (SIGTERM, SIGINT, SIGHUP), it exits with 0. A second signal has its usual effect: it ends the process
 *   at once.
 * - After an error that nothing handled, such as that of a promise that was not awaited, it exits with 1. What the error
 *   left half done is not known, so the process does not go on; other requests under way are finished all the same.
 *
 * @returns takes the application out; the last one takes the listening back
 */
export function endWithProcess(application: Ending): () => void {
  if (applications.size === 0 && ending === null) {
    for (const signal of SIGNALS) process.on(signal, onSignal);
    // Rejections come here too, unless the application has a listener of its own for them.
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
    tell("fatal", error, "An error was not handled: the process ends.");
    end(1);
  } else if (furtherErrors++ < MAX_FURTHER_ERRORS) tell("error", error, "Another error was not handled.");
}

/** Logs an error with the id of its request, to the application that answered it. It never throws. */
function tell(level: "fatal" | "error", error: unknown, sentence: string): void {
  const trace = requestTraces.getStore();
  try {
    const logger = trace?.logger ?? [...applications, ...(ending ?? [])][0]!.logger;
    if (trace !== undefined) trace.id ??= randomUUID();
    logger[level]({ err: error, ...(trace !== undefined && { requestId: trace.id }) }, sentence);
    // It would have been seen without us: an application that logs nothing is no reason to end without a word.
    if (!logger.isLevelEnabled(level)) console.error(error);
  } catch {
    console.error(error);
  }
}

function end(exitCode: 0 | 1): void {
  if (ending !== null) return;
  ending = [...applications];
  process.exitCode = exitCode;
  // Each provider has its own time to shut down. Together they may not take longer than the requests do.
  const seconds = 2 * Math.max(...ending.map(({ timeoutSeconds }) => timeoutSeconds));
  setTimeout(() => process.exit(), seconds * 1000);
  void Promise.all(ending.map((application) => application.shutdown()))
    .then(() => Promise.all([process.stdout, process.stderr].map(written)))
    .finally(() => process.exit());
}

/** Resolves when a stream holds nothing back: what a slow reader has not taken yet would be lost with the process. */
function written(stream: NodeJS.WriteStream): Promise<void> | void {
  if (stream.destroyed || stream.writableLength === 0) return;
  return new Promise((resolve) => stream.write("", () => resolve()));
}
