import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { ConfigurationError } from "../support/index.ts";

/** Where a server listens. */
export interface ListenAddress {
  /** The port; `0` picks any free one. */
  readonly port: number;
  /** The address or name; `null` for every address, or for loopback only if `isLocal`. */
  readonly hostname: string | null;
  /** Whether a server without `hostname` is reachable only from this machine. */
  readonly isLocal: boolean;
  /** Whether nothing is read from a connection, because another process will; default: `false`. */
  readonly isPaused?: boolean;
}

/** How often to try another port if any will do and the one bound for IPv4 is in use for IPv6. */
const ATTEMPTS = 10;

/**
 * Makes a server listen.
 *
 * On loopback, it listens on `127.0.0.1` and, if the machine has IPv6, on `::1`: programs resolve `localhost` to either.
 *
 * @returns the port, and the servers to close, of which the first is the one given
 * @throws `E_INVALID_CONFIGURATION` if it cannot listen there, with what to do about it
 */
export async function listen(
  server: Server,
  address: ListenAddress,
): Promise<{ readonly port: number; readonly listening: readonly Server[] }> {
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
  server: Server,
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

/** Listens on `::1` for another server; returns `null` if the machine does not have that address. */
async function listenAtIPv6(server: Server, port: number, address: ListenAddress): Promise<Server | null> {
  // The way `node:http` creates its own sockets.
  const options = { allowHalfOpen: true, noDelay: true, pauseOnConnect: address.isPaused ?? false };
  const second = createServer(options, (socket) => server.emit("connection", socket));
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
    return new ConfigurationError(where, "Another program is using it.", `Choose another: PORT=${port + 1}`);
  }
  if (code === "EACCES") {
    return new ConfigurationError(where, "This user may not listen on it.", "Choose one above 1023: PORT=3000");
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    const problem = `"${hostname}" is not an address of this machine.`;
    return new ConfigurationError(
      "Environment variable HOST",
      problem,
      "Remove it, or set 0.0.0.0 to use all addresses.",
    );
  }
  return error;
}
