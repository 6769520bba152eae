import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createConnection } from "mysql2/promise";
import { describe } from "vitest";
import { freePort } from "./free-port.ts";
import { freeze, thaw } from "./frozen-process.ts";

const PROGRAMS = { server: "/usr/sbin/mariadbd", install: "/usr/bin/mariadb-install-db" };

/** The data doesn't have to survive, and root may log in without a password. */
const SETTINGS = [
  "--no-defaults",
  "--skip-grant-tables",
  "--innodb-flush-log-at-trx-commit=0",
  "--innodb-buffer-pool-size=16M",
  "--innodb-log-file-size=8M",
  "--bind-address=127.0.0.1",
];

/** A MariaDB server that a test may stop, freeze and break. */
export interface OwnMariadb {
  readonly port: number;
  /** The folder with its data, and with other files of the test. */
  readonly folder: string;
  /** Freezes the server, as on a machine that swaps or is suspended. */
  freeze(): void;
  thaw(): void;
  /** Kills the server; connections end. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server, and removes its data. */
  remove(): Promise<void>;
}

/**
 * Defines a suite that starts a separate server. If the server's programs are missing, the suite is listed as skipped;
 * with `CI` set, it fails.
 */
export function withOwnMariadb(title: string, define: () => void): void {
  const isMissing = process.env.CI === undefined && !Object.values(PROGRAMS).every((path) => existsSync(path));
  describe.skipIf(isMissing)(isMissing ? `${title} (MariaDB's programs are not installed)` : title, define);
}

/**
 * Creates and starts a server on a free port, with an empty database `shop`.
 *
 * @param prepare writes files to the server's folder, and returns the settings that refer to them
 */
export async function startMariadb(prepare: (folder: string) => Promise<readonly string[]>): Promise<OwnMariadb> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-mariadb-"));
  const port = await freePort();
  const data = join(folder, "data");
  // The server refuses to run as root.
  const user = process.getuid?.() === 0 ? ["--user=root"] : [];
  const env = ownTemporaryFolder(folder);
  const install = ["--no-defaults", `--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db"];
  await promisify(execFile)(PROGRAMS.install, [...install, ...user], { env });
  const options = [
    ...SETTINGS,
    ...user,
    `--datadir=${data}`,
    `--port=${port}`,
    `--socket=${join(folder, "socket")}`,
    ...(await prepare(folder)),
  ];
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    child = spawn(PROGRAMS.server, options, { stdio: "ignore", env });
    await responds(port, child);
  };
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  await start();
  const client = await createConnection({ host: "127.0.0.1", port, user: "root" });
  await client.query("create database shop");
  await client.end();
  return {
    port,
    folder,
    freeze: () => freeze(child.pid!),
    thaw: () => thaw(child.pid!),
    kill,
    start,
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The environment of a server that keeps its temporary tables in a separate folder: at startup, a server removes all
 * such files that it finds, even those of another running server.
 *
 * @param folder of the server; a folder `tmp` is created in it
 */
export function ownTemporaryFolder(folder: string): NodeJS.ProcessEnv {
  const path = join(folder, "tmp");
  mkdirSync(path, { recursive: true });
  return { ...process.env, TMPDIR: path };
}

async function responds(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const client = await createConnection({ host: "127.0.0.1", port, user: "root" }).catch(() => null);
    if (client !== null) return await client.end();
    await sleep(50);
  }
  throw new Error(`The server has ended with ${child.exitCode}.`);
}
