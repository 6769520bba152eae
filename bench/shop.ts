// The application that `npm create ashlar` creates, in production on SQLite, as the benchmark starts it.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const PORT: number = 4106;
export const ORIGIN: string = `http://127.0.0.1:${PORT}`;
/** Outside of the repository, because longer paths cost Node more: memory too, since a loop over them gets optimized. */
export const APPLICATION: string = join(tmpdir(), "ashlar-start", "shop");
const REPOSITORY = join(import.meta.dirname, "..");
const PACKAGE = join(REPOSITORY, "packages/ashlar");

/** How a server is started. */
export interface Starter {
  readonly name: string;
  readonly args: readonly string[];
}

export const ashlar: Starter = { name: "Ashlar", args: ["node_modules/ashlar/bin/ashlar.js", "serve"] };

/** The environment for the start. */
export const environment: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_ENV: "production",
  APP_URL: ORIGIN,
  HOST: "127.0.0.1",
  PORT: String(PORT),
  MAIL_FROM: "shop@shop.example",
  SMTP_HOST: "127.0.0.1",
};

/** Creates the application that `npm create ashlar` creates, with the package as npm installs it and a migrated database. */
export async function createShop(): Promise<void> {
  await rm(dirname(APPLICATION), { recursive: true, force: true });
  const create = join(REPOSITORY, "packages/create-ashlar/bin/create-ashlar.js");
  execFileSync(process.execPath, [create, APPLICATION, "--yes", "--no-install", "--no-migrate"], { stdio: "ignore" });
  const { files, dependencies } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8")) as {
    readonly files: readonly string[];
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const modules = join(APPLICATION, "node_modules");
  for (const file of [...files, "package.json"]) {
    await cp(join(PACKAGE, file), join(modules, "ashlar", file), { recursive: true });
  }
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(REPOSITORY, "node_modules", name), join(modules, name));
  }
  execFileSync(process.execPath, [ashlar.args[0]!, "migrate"], { cwd: APPLICATION, env: environment, stdio: "ignore" });
}

/** Starts a server and resolves with it once it listens. */
export async function start({ name, args }: Starter, stderr: "inherit" | "pipe" = "inherit"): Promise<ChildProcess> {
  const child = spawn(process.execPath, args, {
    cwd: APPLICATION,
    env: environment,
    stdio: ["ignore", "pipe", stderr],
  });
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess>();
  child.stdout!.on("data", (text: Buffer) => {
    if (text.includes("listening")) resolve(child);
  });
  child.once("close", () => reject(new Error(`${name} exited while starting`)));
  return await promise;
}

/** Ends a server. */
export async function stop(child: ChildProcess): Promise<void> {
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await closed;
}
