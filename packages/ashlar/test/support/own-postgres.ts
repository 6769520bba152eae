import { execFile, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { describe } from "vitest";
import { freeze, thaw } from "./frozen-process.ts";

/** Where Debian keeps the server's programs, by version. */
const DEBIAN = "/usr/lib/postgresql";
/**
 * Settings for a server whose data doesn't have to survive a crash of the machine. Acknowledged writes survive a crash
 * of the server itself.
 */
const FAST = ["fsync=off", "full_page_writes=off", "shared_buffers=16MB"];

/** A PostgreSQL server that a test may stop, freeze and break. */
export interface OwnPostgres {
  readonly port: number;
  /** The address of its database. */
  readonly url: string;
  readonly folder: string;
  /** Runs a statement as its superuser, on a separate connection. */
  run(text: string): Promise<pg.QueryResult>;
  /** Freezes all of the server's processes, as on a machine that swaps or is suspended. */
  freeze(): void;
  thaw(): void;
  /** Kills the server; connections end. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server, and removes its data. */
  remove(): Promise<void>;
}

/** The folder of the server's programs; `null` if they are not installed. */
export function postgresPrograms(): string | null {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const folders = versions.map((version) => join(DEBIAN, version, "bin")).toSorted();
  const onPath = (process.env.PATH ?? "").split(":");
  return [...folders.toReversed(), ...onPath].find((folder) => existsSync(join(folder, "initdb"))) ?? null;
}

/**
 * Defines a suite that starts separate servers. If PostgreSQL's programs are missing, the suite is listed as skipped;
 * with `CI` set, it fails.
 */
export function withOwnPostgres(title: string, define: () => void): void {
  const missing = process.env.CI === undefined && (postgresPrograms() === null || process.platform !== "linux");
  describe.skipIf(missing)(missing ? `${title} (PostgreSQL's programs are not installed)` : title, define);
}

/**
 * Creates and starts a server on a port.
 *
 * @param settings of the server, as `name=value`
 */
export async function startPostgres(port: number, settings: readonly string[] = []): Promise<OwnPostgres> {
  const programs = postgresPrograms()!;
  const folder = mkdtempSync(join(tmpdir(), "ashlar-postgres-"));
  const user = await serverUser();
  if (user !== null) chownSync(folder, user.uid!, user.gid!);
  const data = join(folder, "data");
  const make = ["-D", data, "-U", "postgres", "-A", "trust", "-N", "--no-locale", "-E", "UTF8"];
  await promisify(execFile)(join(programs, "initdb"), make, { ...user, cwd: folder } as object);
  return runServer(programs, folder, port, settings, user);
}

/** Copies a server, and starts the copy on a port, as a replica of the server. */
export async function startStandby(
  primary: OwnPostgres,
  port: number,
  settings: readonly string[] = [],
): Promise<OwnPostgres> {
  const [programs, user] = [postgresPrograms()!, await serverUser()];
  const folder = mkdtempSync(join(tmpdir(), "ashlar-postgres-"));
  if (user !== null) chownSync(folder, user.uid!, user.gid!);
  const args = ["-h", "127.0.0.1", "-p", String(primary.port), "-U", "postgres", "-D", join(folder, "data")];
  // With the settings to follow the primary (-R), and without delay (-c fast).
  const options = { ...user, cwd: folder } as object;
  await promisify(execFile)(join(programs, "pg_basebackup"), [...args, "-R", "-c", "fast"], options);
  return runServer(programs, folder, port, settings, user);
}

/** Starts a server on existing data, such as a copy. */
async function runServer(
  programs: string,
  folder: string,
  port: number,
  settings: readonly string[],
  user: SpawnOptions | null,
): Promise<OwnPostgres> {
  const all = [...FAST, "listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`, ...settings];
  const options = ["-D", join(folder, "data"), "-p", String(port), ...all.flatMap((one) => ["-c", one])];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const running = { child: spawnServer() };

  function spawnServer() {
    return spawn(join(programs, "postgres"), options, { ...user, cwd: folder, stdio: "ignore" });
  }
  const run = async (text: string): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    try {
      return await client.query(text);
    } finally {
      await client.end();
    }
  };
  const ready = async (): Promise<void> => {
    for (;;) {
      if (running.child.exitCode !== null) throw new Error(`The server on port ${port} ended by itself.`);
      const answer = await run("select 1").catch(() => null);
      if (answer !== null) return;
      await sleep(20);
    }
  };
  const forEachProcess = (change: (pid: number) => void): void => {
    const pid = running.child.pid!;
    change(pid);
    // The server's processes have separate groups, and a frozen server can't start more.
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
    for (const child of children) {
      try {
        change(Number(child));
      } catch {
        // It has ended since.
      }
    }
  };
  const kill = async (): Promise<void> => {
    if (running.child.exitCode !== null || running.child.signalCode !== null) return;
    forEachProcess(thaw);
    // "Immediate shutdown": its processes end without notifying clients.
    const ended = once(running.child, "exit");
    running.child.kill("SIGQUIT");
    await ended;
  };
  await ready();
  return {
    port,
    url,
    folder,
    run,
    freeze: () => forEachProcess(freeze),
    thaw: () => forEachProcess(thaw),
    kill,
    async start() {
      running.child = spawnServer();
      await ready();
    },
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root. @returns `null` if this process doesn't run as root */
export async function serverUser(): Promise<SpawnOptions | null> {
  if (process.getuid?.() !== 0) return null;
  const id = async (flag: string) => Number((await promisify(execFile)("id", [flag, "postgres"])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}
