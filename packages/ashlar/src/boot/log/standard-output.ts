import { writeSync } from "node:fs";
import { unblockStandardStream } from "../../node/index.ts";
import { counted } from "../../support/index.ts";

const DESCRIPTOR = 1;
const ERROR_DESCRIPTOR = 2;
/** How much is kept while standard output cannot be written, in bytes. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** How long to wait before trying again if no further line does, in milliseconds. */
const RETRY_MS = 100;
/** How long an exiting process waits for a slow reader, in milliseconds. */
const MAX_EXIT_MS = 3000;
const EXIT_RETRY_MS = 10;

/**
 * Lines on the standard output of the process, in their order. Writing never waits: what cannot be written, because a
 * pipe's reader has stopped or the disk is full, is kept and written as soon as it can be. Lines that would exceed
 * {@link MAX_KEPT_BYTES} are dropped. Standard error says when lines are lost, and how many at the exit.
 *
 * There is one per process, because a pipe that is almost full takes only the beginning of a line, and the next bytes
 * must be the rest of it.
 */
class StandardOutput {
  /** Not written yet; the first may be the rest of a line. */
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #retry: NodeJS.Timeout | null = null;
  /** The lines that could not be kept; reported once the kept ones are written. */
  #dropped = 0;
  #reportDropped: ((count: number) => void) | null = null;
  /** Whether the last attempt failed only because the reader has not read enough. */
  #isFull = false;
  /** Whether the reader of the pipe is gone for good. */
  #isBroken = false;

  /** Whether something that was to be written is not. */
  get isBehind(): boolean {
    return this.#isBroken || this.#kept.length > 0;
  }

  /**
   * Writes a line, or keeps it.
   *
   * @param reportDropped logs how many lines were dropped, if this one was; called when everything kept is written
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
    // The first may be the rest of a line, without which the next line would not be readable either.
    if (this.#kept.length > 0 && this.#keptBytes + bytes.length > MAX_KEPT_BYTES) {
      // Standard error may be the same pipe: its line could end up inside one that is only half written.
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

  /** Writes what there is room for, and returns how many bytes that was. */
  #attempt(data: string | Uint8Array): number {
    this.#isFull = false;
    // Each time, because a child process that shares this output makes it block again.
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

  /** Writes what is kept before the process exits, and says what is lost. */
  readonly finish = (): void => {
    this.#writeLast();
    const count = this.#dropped + this.#kept.length;
    if (count > 0) report(`${counted(count, "line")} of the log could not be written to standard output.`);
  };

  /** A reader gets a moment for it; a full disk does not. */
  #writeLast(): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let waitedMs = 0; this.#kept.length > 0; waitedMs += EXIT_RETRY_MS) {
      this.#writeKept();
      if (!this.#isFull || waitedMs >= MAX_EXIT_MS) return;
      Atomics.wait(pause, 0, 0, EXIT_RETRY_MS);
    }
  }
}

/** Writes a sentence to standard error, if that is possible without waiting. */
function report(sentence: string): void {
  try {
    unblockStandardStream(process.stderr);
    writeSync(ERROR_DESCRIPTOR, `${sentence}\n`);
  } catch {
    // It is full or closed too.
  }
}

let output: StandardOutput | null = null;

/** The standard output of the process. */
export function standardOutput(): StandardOutput {
  if (output === null) {
    output = new StandardOutput();
    process.on("exit", output.finish);
  }
  return output;
}

/** Whether lines that were written to the standard output of the process have not got there, or never will. */
export function isStandardOutputBehind(): boolean {
  // In development, Node's own stream is used.
  return output?.isBehind ?? process.stdout.errored !== null;
}
