import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A port that nothing is listening on. It is below those that a system assigns to programs that don't choose one, so no
 * other test gets it before it is used, or while the program that uses it restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if ((await canListen(port, "127.0.0.1")) && (await canListen(port, "::1"))) return port;
  }
}

/** The first of two ports in a row that nothing is listening on, like {@link freePort}. */
export async function twoFreePorts(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (await canListen(port + 1, "127.0.0.1")) return port;
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
