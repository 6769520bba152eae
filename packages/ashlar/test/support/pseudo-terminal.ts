import { execFileSync, spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished } from "vitest";
import { shellEnvironment } from "./shell-environment.ts";

/** A program that runs in a separate terminal. */
export interface PseudoTerminal {
  /** Types keys. */
  type(keys: string): void;
  /** Waits until this is on the screen after the last call's match. Control characters are ignored. */
  shows(pattern: RegExp): Promise<void>;
  /** Everything that was written to the screen. */
  raw(): string;
  /** Waits for the end, and returns the exit code: 128 plus the signal's number if a signal ended it. */
  readonly ended: Promise<number>;
  /** Sends a signal to the program alone. */
  signal(name: "TERM" | "HUP"): void;
}

/** Keys as terminals send them. */
export const KEYS = { enter: "\r", up: "\u001b[A", down: "\u001b[B", space: " ", interrupt: "\u0003" } as const;

/** Starts a program with a terminal as its standard streams, and copies between this and its own streams. */
const HELPER = `
import fcntl, os, pty, select, signal, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
signal.signal(signal.SIGUSR1, lambda *_: os.kill(pid, signal.SIGTERM))
signal.signal(signal.SIGUSR2, lambda *_: os.kill(pid, signal.SIGHUP))
sources = [0, terminal]
while True:
    ready, _, _ = select.select(sources, [], [])
    if terminal in ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        keys = os.read(0, 65536)
        if keys:
            os.write(terminal, keys)
        else:
            sources.remove(0)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
`;

/** Whether this machine can start programs in a terminal: Python 3 with the module pty, which Windows lacks. */
export const hasPseudoTerminals: boolean = (() => {
  try {
    execFileSync("python3", ["-c", "import pty, termios"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** How long to wait for text on the screen: less than a test's timeout, so that the failure shows the screen. */
const PATIENCE_MS = 150_000;

/** Starts a program in a terminal. It is stopped after the test. */
export function startInTerminal(
  folder: string,
  command: string,
  args: readonly string[],
  { columns = 100, env = {} }: { columns?: number; env?: Readonly<Record<string, string | undefined>> } = {},
): PseudoTerminal {
  const child = spawn("python3", ["-c", HELPER, String(columns), command, ...args], {
    cwd: folder,
    // Colors depend on these, and CI sets some of them.
    env: {
      ...shellEnvironment(),
      CI: undefined,
      NO_COLOR: undefined,
      FORCE_COLOR: undefined,
      TERM: "xterm-256color",
      ...env,
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  // The program may have just ended.
  child.stdin.on("error", () => {});
  let raw = "";
  let seen = 0;
  let isOver = false;
  let notify = (): void => {};
  child.stdout.on("data", (chunk: Buffer) => {
    raw += chunk.toString();
    notify();
  });
  const ended = new Promise<number>((resolve) => {
    child.on("close", (code) => {
      isOver = true;
      notify();
      resolve(code ?? -1);
    });
  });
  const shows = async (pattern: RegExp): Promise<void> => {
    const late = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const text = stripVTControlCharacters(raw);
      const match = pattern.exec(text.slice(seen));
      if (match !== null) {
        seen += match.index + match[0].length;
        return;
      }
      if (isOver || late.aborted) throw new Error(`It has not shown ${pattern}:\n${text}`);
      await new Promise<void>((resolve) => {
        notify = resolve;
        late.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  return {
    type: (keys) => void child.stdin.write(keys),
    shows,
    raw: () => raw,
    ended,
    signal: (name) => void child.kill(name === "TERM" ? "SIGUSR1" : "SIGUSR2"),
  };
}
