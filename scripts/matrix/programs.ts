import { type ChildProcess, spawn } from "node:child_process";

/** A running program, in a separate process group with everything that it starts. */
export class Program {
  readonly #child: ChildProcess;
  #output = "";
  /** The exit code, once nothing in its group writes any more; `null` if a signal ended it. */
  readonly ended: Promise<number | null>;

  constructor(line: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn("sh", ["-ec", line], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        this.#output += chunk;
      });
    }
    this.ended = new Promise((resolve, reject) => {
      this.#child.on("error", reject);
      this.#child.on("close", resolve);
    });
  }

  /** Everything printed so far, on both streams. */
  get output(): string {
    return this.#output;
  }

  /**
   * Waits until the program has printed something.
   *
   * @returns `false` if it ended before
   */
  async printed(pattern: RegExp): Promise<boolean> {
    const found = new Promise<boolean>((resolve) => {
      const look = (): void => {
        if (pattern.test(this.#output)) resolve(true);
      };
      look();
      this.#child.stdout?.on("data", look);
    });
    return await Promise.race([found, this.ended.then(() => false)]);
  }

  /** Sends a signal to the program and the processes it has started. */
  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#child.pid!, signal);
    } catch (error) {
      // All of them have ended already.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** The programs that a script has started. */
export class Programs {
  readonly #running = new Set<Program>();
  #areKilled = false;

  /**
   * Starts a shell command line, which ends at the first command that fails.
   *
   * @throws if the programs have been killed
   */
  start(line: string, cwd: string, env: NodeJS.ProcessEnv): Program {
    if (this.#areKilled) throw new Error(`${line}: not started, because the script is ending.`);
    const program = new Program(line, cwd, env);
    this.#running.add(program);
    const forget = (): void => void this.#running.delete(program);
    program.ended.then(forget, forget);
    return program;
  }

  /** Kills every program and the processes it has started, and lets no other one start. */
  kill(): void {
    this.#areKilled = true;
    for (const program of this.#running) program.signal("SIGKILL");
  }
}
