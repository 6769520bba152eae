import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Application } from "../../boot/index.ts";
import { counted, PACKAGE_FOLDER } from "../../support/index.ts";
import type { Terminal } from "../terminal.ts";
import { FolderWatcher } from "./folder-watcher.ts";

/**
 * How long to wait for further changes before a restart, so that a checkout or "save all" causes one restart instead of
 * fifty.
 */
const QUIET_MS = 100;
/** How long the application may take to shut down before it is killed, in milliseconds. */
const STOP_TIMEOUT_MS = 5000;
/**
 * npm forwards the Ctrl+C that the terminal has already sent to every process. Two signals within this time, in
 * milliseconds, count as one.
 */
const SAME_SIGNAL_MS = 300;

/** The child process's descriptor for a socket opened by another program. It follows the descriptor of the channel. */
const CHILD_DESCRIPTOR = 4;

const COMMAND = join(PACKAGE_FOLDER, "bin/ashlar.js");

/**
 * Serves a folder's application in a child process and restarts it when its files change, until a signal ends this
 * process. An application that exits on its own, such as after a syntax error, is restarted at the next change.
 *
 * @param args the arguments of `ashlar serve`
 * @param fd the descriptor of the socket to listen at, if another program has opened it; else `null`
 */
export async function supervise(terminal: Terminal, args: readonly string[], fd: number | null = null): Promise<void> {
  const supervisor = new Supervisor(terminal, args, fd);
  await supervisor.run();
}

class Supervisor {
  readonly #terminal: Terminal;
  readonly #args: readonly string[];
  readonly #fd: number | null;
  readonly #changed = new Set<string>();
  #changedAt = 0;
  #child: ChildProcess | null = null;
  #isRestarting = false;
  #endedAt: number | null = null;

  constructor(terminal: Terminal, args: readonly string[], fd: number | null) {
    this.#terminal = terminal;
    this.#fd = fd;
    this.#args = fd === null ? args : [...args, "--descriptor", String(CHILD_DESCRIPTOR)];
  }

  async run(): Promise<void> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      if (this.#endedAt === null) {
        this.#endedAt = Date.now();
        void this.#stop().then(resolve);
      } else if (Date.now() - this.#endedAt > SAME_SIGNAL_MS) this.#child?.kill("SIGKILL");
    };
    // The listener is never removed. Without it, a repeated signal would end this process, and replace its exit code.
    process.on("SIGINT", end).on("SIGTERM", end);
    const watcher = new FolderWatcher(this.#terminal.root, (path) => {
      this.#changed.add(path);
      this.#changedAt = Date.now();
      if (!this.#isRestarting) void this.#restart();
    });
    this.#start();
    await ended;
    watcher.close();
    // A process that is exiting no longer has listeners.
    await sleep(this.#endedAt! + SAME_SIGNAL_MS - Date.now());
  }

  #start(): void {
    const child = spawn(process.execPath, [COMMAND, "serve", "--supervised", ...this.#args], {
      cwd: this.#terminal.root,
      stdio: ["inherit", "inherit", "inherit", "ipc", ...(this.#fd === null ? [] : [this.#fd])],
    });
    this.#child = child;
    child.once("exit", (code, signal) => {
      this.#child = null;
      if (this.#isRestarting || this.#endedAt !== null) return;
      this.#terminal.print(`The application exited (${signal ?? code}). It will restart when a file changes.`);
    });
  }

  async #restart(): Promise<void> {
    this.#isRestarting = true;
    while (this.#changed.size > 0 && this.#endedAt === null) {
      await this.#quiet();
      const [first, ...others] = this.#changed;
      const more = others.length === 0 ? "" : ` and ${counted(others.length, "more file")}`;
      this.#terminal.print(`Restarting: ${first}${more} changed.`);
      // The old process is stopped before the next one starts, because both need the same port.
      await this.#stop();
      await this.#quiet();
      this.#changed.clear();
      if (this.#endedAt === null) this.#start();
    }
    this.#isRestarting = false;
  }

  /** Waits until there have been no changes for a while. */
  async #quiet(): Promise<void> {
    for (;;) {
      const rest = this.#changedAt + QUIET_MS - Date.now();
      if (rest <= 0) return;
      await sleep(rest);
    }
  }

  /** Lets the application finish its pending requests and exit. */
  async #stop(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const ended = once(child, "exit");
    // Windows has no signal that a process could handle.
    if (child.connected) child.send("stop", () => {});
    else child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(late);
  }
}

/**
 * Ends this process when its supervisor requests it, or exits. An application that kept running would keep the port.
 *
 * @returns a function to call with the application once it has been created, so that it is shut down before the process
 * ends
 */
export function obeySupervisor(): (application: Application) => void {
  let running: Application | null = null;
  const stop = (): void => {
    if (running === null) process.exit(0);
    void running.shutdown().finally(() => process.exit(0));
  };
  process.once("message", stop).once("disconnect", stop);
  // The channel alone must not keep the process running.
  process.channel?.unref();
  return (application) => {
    running = application;
  };
}
