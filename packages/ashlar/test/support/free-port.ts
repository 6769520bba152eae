import { randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { RUN_FOLDER } from "./run-processes.ts";

/** Below the range that the system assigns ports from. */
const [FIRST, END] = [12_000, 32_000];

/**
 * Returns a port that nothing listens on and no other test of this run gets. The system doesn't assign it either, so it
 * is still free when it is used, or when the program that uses it restarts.
 *
 * @param apart the distance to a second port that also has to be free, because the program uses it as well
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

/** Reserves a port for the rest of the run, unless another test has it. */
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
    // If the machine has no such address, nothing can listen there.
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "EADDRINUSE"));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
