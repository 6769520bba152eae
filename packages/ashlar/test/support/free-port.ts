import { randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { RUN_FOLDER } from "./run-processes.ts";

/** Below the ports that a system assigns to programs that don't choose one. */
const [FIRST, END] = [12_000, 32_000];

/**
 * A port that nothing is listening on, and that no other test of this run is given. No program is assigned it by the system,
 * so nothing gets it before it is used, or while the program that uses it restarts.
 *
 * @param apart how much higher another port is that has to be so too: one that the program takes without being told
 */
export async function freePort(apart = 0): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END - apart);
    if ((await isFree(port)) && (apart === 0 || (await isFree(port + apart)))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  return reserve(port) && (await canListen(port, "127.0.0.1")) && (await canListen(port, "::1"));
}

/** Makes a port the caller's for the rest of the run, unless it is another's. */
function reserve(port: number): boolean {
  const run = process.env[RUN_FOLDER];
  if (run === undefined) return true;
  const folder = join(run, "ports");
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(join(folder, String(port)), "", { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function canListen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    // A machine without this kind of address has nothing that listens there.
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "EADDRINUSE"));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
