import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, createServer, type Server as SocketServer } from "node:net";
import { ConfigurationError } from "../support/index.ts";

/** Where a server listens. */
export interface ListenAddress {
  /** The port; `0` takes any that is free. */
  readonly port: number;
  /** The address or name; `null` for every address, or for loopback alone if `isLocal`. */
  readonly hostname: string | null;
  /** Whether only this machine reaches a server that has no `hostname`. */
  readonly isLocal: boolean;
}

/** How often another port is tried where any will do, and the one that IPv4 got is in use with IPv6. */
const ATTEMPTS = 10;

/**
 * Has a server listen.
 *
 * On loopback it does so at `127.0.0.1` and, where the machine has IPv6, at `::1`: programs take `localhost` for either.
 *
 * @returns the port, and the servers that are to be closed, of which the first is the one given
 * @throws `E_INVALID_CONFIGURATION` if it cannot listen there, with what to do about it
 */
export async function listen(
  server: Server,
  address: ListenAddress,
): Promise<{ readonly port: number; readonly listening: readonly SocketServer[] }> {
  const { hostname, isLocal } = address;
  const onLoopback = hostname === null && isLocal;
  for (let attempt = 1; ; attempt += 1) {
    const port = await listenAt(server, address.port, onLoopback ? "127.0.0.1" : hostname, address);
    if (!onLoopback) return { port, listening: [server] };
    try {
      const second = await listenAtIPv6(server, port, address);
      return { port, listening: second === null ? [server] : [server, second] };
    } catch (error) {
      await new Promise((resolve) => server.close(resolve));
      if (address.port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

async function listenAt(
  server: SocketServer,
  port: number,
  hostname: string | null,
  address: ListenAddress,
): Promise<number> {
  try {
    server.listen(port, hostname ?? undefined);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw listenProblem(error, address);
  }
}

/** Listens at `::1` for another server; `null` if the machine has no such address. */
async function listenAtIPv6(server: Server, port: number, address: ListenAddress): Promise<SocketServer | null> {
  // As `node:http` makes its own sockets.
  const second = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit("connection", socket));
  second.maxConnections = server.maxConnections;
  try {
    second.listen(port, "::1");
    await once(second, "listening");
    return second;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") return null;
    throw listenProblem(error, address);
  }
}

function listenProblem(error: unknown, { port, hostname }: ListenAddress): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const where = `Port ${port}`;
  if (code === "EADDRINUSE") {
    return new ConfigurationError(where, "Another program listens on it.", `Set another: PORT=${port + 1}`);
  }
  if (code === "EACCES") {
    return new ConfigurationError(where, "This user may not listen on it.", "Set one above 1023: PORT=3000");
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    const problem = `"${hostname}" is not an address of this machine.`;
    return new ConfigurationError("Environment variable HOST", problem, "Remove it, or set 0.0.0.0 for every address.");
  }
  return error;
}
