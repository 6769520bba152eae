import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";
import { freeze, thaw } from "./frozen-process.ts";
import { makeFolder } from "./temporary-folder.ts";

/** How a server is started. */
export interface RedisServerOptions {
  /** Additional settings, as on the command line: `["--maxmemory", "3mb"]`. */
  readonly args?: readonly string[];
  /** The contents of its configuration file, for a Sentinel, which writes to it. */
  readonly file?: (port: number) => string;
}

/** A test's own Redis server on a free port, which can be stopped, frozen and started again. */
export class RedisServer {
  readonly port: number;
  readonly #args: readonly string[];
  readonly #folder: ReturnType<typeof makeFolder>;
  #child: ChildProcess | null = null;
  #commands: Redis | null = null;

  private constructor(port: number, { args = [], file }: RedisServerOptions) {
    this.port = port;
    this.#folder = makeFolder(file === undefined ? {} : { "redis.conf": file(port) });
    const own = file === undefined ? ["--port", String(port), "--save", "", "--appendonly", "no"] : ["redis.conf"];
    this.#args = [...own, "--dir", this.#folder.folder, "--bind", "127.0.0.1", ...args];
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), options);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it, or starts it again, and waits until it answers. */
  async start(): Promise<void> {
    const child = spawn("redis-server", this.#args, { cwd: this.#folder.folder, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let output = "";
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (/Ready to accept connections|monitor master|Sentinel ID is/i.test(output)) resolve();
    });
    child.once("error", reject);
    child.once("close", () => reject(new Error(`redis-server has ended:\n${output}`)));
    await promise;
  }

  /** Sends a command over a connection of the test. */
  run(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    this.#commands ??= new Redis({ port: this.port, host: "127.0.0.1" }).on("error", () => {});
    return this.#commands.call(name, ...args);
  }

  /** How often it has run a command, such as `evalsha`. */
  async count(command: string): Promise<number> {
    const text = String(await this.run("INFO", "commandstats"));
    return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(text)?.[1] ?? 0);
  }

  /** Moves every key's expiry closer, as if this time had passed, in seconds. */
  async elapse(seconds: number): Promise<void> {
    for (const key of (await this.run("KEYS", "*")) as string[]) {
      const left = Number(await this.run("PTTL", key)) - seconds * 1000;
      if (left > 0) await this.run("PEXPIRE", key, Math.ceil(left));
      else await this.run("DEL", key);
    }
  }

  /** Freezes it: connections stay open, but it doesn't respond. */
  freeze(): void {
    freeze(this.#child!.pid!);
  }

  thaw(): void {
    thaw(this.#child!.pid!);
  }

  /** Ends it, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#commands?.disconnect();
    this.#commands = null;
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  /** Ends it for good. */
  async remove(): Promise<void> {
    await this.stop();
    this.#folder.remove();
  }
}
