import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startProgram } from "./programs.ts";
import type { Undo } from "./undoing.ts";

/**
 * Starts an HAProxy in front of database servers. It uses the first one, and each later one only while all before it are
 * down.
 *
 * @param check HAProxy's option for its health check
 * @returns its port
 */
export async function startDatabaseProxy(undo: Undo, check: string, servers: readonly number[]): Promise<number> {
  const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), "ashlar-database-proxy-"))];
  undo(() => rmSync(folder, { recursive: true, force: true }));
  const lines = servers.map((one, index) => `  server s${index} 127.0.0.1:${one}${index === 0 ? "" : " backup"}\n`);
  writeFileSync(
    join(folder, "haproxy.cfg"),
    `defaults
  mode tcp
  timeout connect 2s
  timeout check 2s
  timeout client 1h
  timeout server 1h
listen database
  bind 127.0.0.1:${port}
  ${check}
  default-server check inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions
${lines.join("")}`,
  );
  const program = startProgram("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { cwd: folder });
  undo(() => program.stop());
  return port;
}
