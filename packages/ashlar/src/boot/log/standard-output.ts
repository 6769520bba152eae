import { writeSync } from "node:fs";
import { unblockStandardStream } from "../../node/index.ts";
import { counted } from "../../support/index.ts";

const DESCRIPTOR = 1;
const ERROR_DESCRIPTOR = 2;
/** How much text is kept while standard output can't be written, in bytes. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** How long to wait before trying again, in milliseconds, if no further line is logged. */
const RETRY_MS = 100;
/** How long an exiting process waits for a slow reader, in milliseconds. */
const MAX_EXIT_MS = 3000;
const EXIT_RETRY_MS = 10;

/**
 * Writes lines to the process's standard output, in order, without ever blocking. If a pipe's reader has stopped or the
 * disk is full, lines are kept and written as soon as possible. Lines that would exceed {@link MAX_KEPT_BYTES} are
 * dropped. Standard error reports when lines are lost, and at exit, how many.
 *
 * There is one instance per process: a pipe that is almost full accepts only the beginning of a line, and the rest of the
 * line must come next.
 */
class StandardOutput {
  /** The lines that haven't been written. The first may be the rest of a line. */
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #retry: NodeJS.Timeout | null = null;
  /** How many lines were dropped. This is reported once the kept lines are written. */
  #dropped = 0;
  #reportDropped: ((count: number) => void) | null = null;
  /** Whether the last attempt failed only because the pipe is full. */
  #isFull = false;
  /** Whether the pipe's reader is gone. */
  #isBroken = false;

  /** Whether any text hasn't been written. */
  get isBehind(): boolean {
    return this.#isBroken || this.#kept.length > 0;
  }

  /**
   * Writes a line, or keeps it.
   *
   * @param reportDropped logs how many lines were dropped; called if this line is dropped, once all kept lines are written
   */
  write(line: string, reportDropped: (count: number) => void): void {
    if (this.#kept.length > 0) this.#writeKept();
    if (this.#isBroken || this.#kept.length > 0) this.#keep(Buffer.from(line), reportDropped);
    else {
      const length = Buffer.byteLength(line);
      const written = this.#attempt(line);
      if (written < length) this.#keep(Buffer.from(line).subarray(written), reportDropped);
    }
  }

  #keep(bytes: Uint8Array, reportDropped: (count: number) => void): void {
    if (this.#isBroken) {
      this.#dropped++;
      return;
    }
    // The first may be the rest of a line. Without it, the next line would be unreadable, too.
    if (this.#kept.length > 0 && this.#keptBytes + bytes.length > MAX_KEPT_BYTES) {
      // Standard error may be the same pipe, and its line could end up in the middle of a line that is only half written.
      if (this.#dropped === 0 && !this.#isFull)
        report("Standard output cannot be written: log lines are being dropped.");
      this.#dropped++;
      this.#reportDropped = reportDropped;
      return;
    }
    this.#kept.push(bytes);
    this.#keptBytes += bytes.length;
    this.#retry ??= setInterval(() => this.#writeKept(), RETRY_MS).unref();
  }

  #writeKept(): void {
    let [first] = this.#kept;
    while (first !== undefined) {
      const written = this.#attempt(first);
      if (this.#isBroken) return;
      this.#keptBytes -= written;
      if (written < first.length) {
        this.#kept[0] = first.subarray(written);
        return;
      }
      this.#kept.shift();
      [first] = this.#kept;
    }
    this.#stopTrying();
    const count = this.#dropped;
    this.#dropped = 0;
    if (count > 0) this.#reportDropped?.(count);
  }

  /** Writes as much as possible, and returns the number of bytes. */
  #attempt(data: string | Uint8Array): number {
    this.#isFull = false;
    // Set each time, because a child process that shares this output makes it block again.
    unblockStandardStream(process.stdout);
    try {
      return typeof data === "string" ? writeSync(DESCRIPTOR, data) : writeSync(DESCRIPTOR, data);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.#isFull = code === "EAGAIN";
      if (code === "EPIPE") this.#giveUp();
      return 0;
    }
  }

  #giveUp(): void {
    this.#isBroken = true;
    this.#dropped += this.#kept.length;
    this.#kept = [];
    this.#stopTrying();
    report("Standard output was closed by its reader. From now on, the log is lost.");
  }

  #stopTrying(): void {
    if (this.#retry !== null) clearInterval(this.#retry);
    this.#retry = null;
  }

  /** Writes the kept lines before the process exits, and reports how many are lost. */
  readonly finish = (): void => {
    this.#writeLast();
    const count = this.#dropped + this.#kept.length;
    if (count > 0) report(`${counted(count, "line")} of the log could not be written to standard output.`);
  };

  /** Waits a moment for a slow reader, but not for a full disk. */
  #writeLast(): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let waitedMs = 0; this.#kept.length > 0; waitedMs += EXIT_RETRY_MS) {
      this.#writeKept();
      if (!this.#isFull || waitedMs >= MAX_EXIT_MS) return;
      Atomics.wait(pause, 0, 0, EXIT_RETRY_MS);
    }
  }
}

/** Writes a sentence to standard error if that is possible without waiting. */
function report(sentence: string): void {
  try {
    unblockStandardStream(process.stderr);
    writeSync(ERROR_DESCRIPTOR, `${sentence}\n`);
  } catch {
    // Standard error is full or closed, too.
  }
}

let output: StandardOutput | null = null;

/** The process's standard output. */
export function standardOutput(): StandardOutput {
  if (output === null) {
    output = new StandardOutput();
    process.on("exit", output.finish);
  }
  return output;
}

/** Whether any logged lines haven't reached the process's standard output, or never will. */
export function isStandardOutputBehind(): boolean {
  // In development, the log uses Node's own stream.
  return output?.isBehind ?? process.stdout.errored !== null;
}
