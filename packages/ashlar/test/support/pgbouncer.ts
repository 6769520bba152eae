import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { serverUser } from "./own-postgres.ts";
import { POSTGRES } from "./postgres-databases.ts";

/** A PgBouncer in transaction mode, in front of the tests' server. */
export interface RunningBouncer {
  readonly port: number;
  end(): Promise<void>;
}

/**
 * @param poolSize how many server connections it uses for each database
 * @param server default: the tests' server
 * @param port default: a free one
 */
export async function startPgbouncer(
  poolSize: number,
  server: Readonly<Record<string, string | number>> = POSTGRES,
  port?: number,
): Promise<RunningBouncer> {
  return await startOn(port ?? (await freePort()), poolSize, server);
}

async function startOn(
  port: number,
  poolSize: number,
  { host, port: serverPort, user }: Readonly<Record<string, string | number>>,
): Promise<RunningBouncer> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-pgbouncer-"));
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
* = host=${host} port=${serverPort} user=${user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 1000
server_idle_timeout = 1
`,
  );
  chmodSync(folder, 0o755);
  const child = spawn("pgbouncer", ["-q", file], { ...(await serverUser()), cwd: folder, stdio: "ignore" });
  const failure = once(child, "error").then(([error]) => Promise.reject(error));
  failure.catch(() => {});
  while (!(await Promise.race([isListening(port), failure]))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}.`);
    await sleep(20);
  }
  return {
    port,
    async end() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
