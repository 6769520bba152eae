import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { freeze, thaw } from "../../packages/ashlar/test/support/frozen-process.ts";
import { ownTemporaryFolder } from "../../packages/ashlar/test/support/own-mariadb.ts";
import { until } from "./instances.ts";
import type { Undo } from "./undoing.ts";

/** A node of a cluster, which can be frozen and killed. */
export interface GaleraNode {
  readonly port: number;
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
}

const USER = "shop";
const SIZE = 3;

interface Ports {
  readonly sql: number;
  readonly group: number;
  readonly ist: number;
  readonly sst: number;
}

/**
 * Starts a cluster of three nodes with an empty database `shop`, which its user `shop` may use without a password.
 *
 * All begin with a copy of the first node's data, made while it is stopped, so no node has to send its state to another.
 */
export async function startGalera(undo: Undo): Promise<readonly GaleraNode[]> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-galera-"));
  undo(() => rmSync(folder, { recursive: true, force: true }));
  const ports: Ports[] = [];
  for (let index = 0; index < SIZE; index++) {
    ports.push({ sql: await freePort(), group: await freePort(), ist: await freePort(), sst: await freePort() });
  }
  const environments = ports.map((_, index) => ownTemporaryFolder(join(folder, `files-${index}`)));
  await giveToServer(folder);
  const data = (index: number): string => join(folder, `node-${index}`);
  const install = ["--no-defaults", `--datadir=${data(0)}`, "--skip-test-db", ...asServer];
  await promisify(execFile)("/usr/bin/mariadb-install-db", install, { env: environments[0] });
  const run = (index: number, ...more: string[]): ChildProcess => {
    const log = openSync(join(folder, `node-${index}.log`), "a");
    const options = [...optionsOf(folder, index, ports), ...more];
    return spawn("/usr/sbin/mariadbd", options, { stdio: ["ignore", log, log], env: environments[index] });
  };
  const logOf = (index: number) => () => readFileSync(join(folder, `node-${index}.log`), "utf8").slice(-4000);
  const first = run(0, "--wsrep-new-cluster", "--skip-grant-tables");
  undo(() => end(first, "SIGKILL"));
  await until(() => hasJoined(ports[0]!.sql, 1), logOf(0));
  const client = await createConnection({ host: "127.0.0.1", port: ports[0]!.sql, user: "root" });
  await client.query("create database shop");
  await client.query("flush privileges");
  await client.query(`create user ${USER}@'%'`);
  await client.query(`grant all on *.* to ${USER}@'%'`);
  await client.end();
  await end(first, "SIGTERM");
  for (let index = 1; index < SIZE; index++) cpSync(data(0), data(index), { recursive: true });
  await giveToServer(folder);
  const nodes: GaleraNode[] = [];
  for (let index = 0; index < SIZE; index++) {
    const child = run(index, ...(index === 0 ? ["--wsrep-new-cluster"] : []));
    undo(() => end(child, "SIGKILL"));
    await until(() => hasJoined(ports[index]!.sql, index + 1), logOf(index));
    nodes.push({
      port: ports[index]!.sql,
      freeze: () => freeze(child.pid!),
      thaw: () => thaw(child.pid!),
      kill: () => end(child, "SIGKILL"),
    });
  }
  return nodes;
}

/**
 * The server refuses to run as root, and rsync, which copies the data to a joining node, would write as nobody. So if this
 * script runs as root, all files belong to the user that Debian's package creates for the server.
 */
const isRoot = process.getuid?.() === 0;
const asServer = isRoot ? ["--user=mysql"] : [];

async function giveToServer(folder: string): Promise<void> {
  if (isRoot) await promisify(execFile)("chown", ["-R", "mysql:mysql", folder]);
}

function optionsOf(folder: string, index: number, ports: readonly Ports[]): string[] {
  const { sql, group, ist, sst } = ports[index]!;
  const provider = {
    base_port: group,
    "gmcast.listen_addr": `tcp://127.0.0.1:${group}`,
    "ist.recv_addr": `127.0.0.1:${ist}`,
    "gcache.size": "64M",
  };
  return [
    "--no-defaults",
    ...asServer,
    `--datadir=${join(folder, `node-${index}`)}`,
    `--port=${sql}`,
    `--socket=${join(folder, `${index}.sock`)}`,
    "--bind-address=127.0.0.1",
    "--innodb-buffer-pool-size=32M",
    "--binlog-format=ROW",
    "--innodb-autoinc-lock-mode=2",
    "--wsrep-on=ON",
    "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
    "--wsrep-cluster-name=shop",
    `--wsrep-cluster-address=gcomm://${ports.map((one) => `127.0.0.1:${one.group}`).join(",")}`,
    `--wsrep-node-name=node-${index}`,
    `--wsrep-node-address=127.0.0.1:${group}`,
    `--wsrep-sst-receive-address=127.0.0.1:${sst}`,
    "--wsrep-sst-method=rsync",
    "--wsrep-sync-wait=1",
    `--wsrep-provider-options=${Object.entries(provider)
      .map((pair) => pair.join("="))
      .join(";")}`,
  ];
}

/** Whether a node is in sync with a cluster of the given size. */
async function hasJoined(port: number, size: number): Promise<boolean> {
  for (const user of [USER, "root"]) {
    try {
      const client = await createConnection({ host: "127.0.0.1", port, user });
      const [rows] = await client.query<RowDataPacket[]>("show status like 'wsrep_%'");
      await client.end();
      const status = Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]));
      return status.wsrep_local_state_comment === "Synced" && Number(status.wsrep_cluster_size) === size;
    } catch {
      // The server isn't running yet, or doesn't have this user yet.
    }
  }
  return false;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
