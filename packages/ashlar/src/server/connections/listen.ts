import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, linkSync, lstatSync, renameSync, rmSync } from "node:fs";
import { lstat, rename, unlink } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { ConfigurationError, type EnvironmentVariables } from "../../support/index.ts";

/** Where a server listens: on `fd` if it is set, or else on `socket`, or else on `port`. */
export interface ListenAddress {
  /** The port; `0` picks any free one. */
  readonly port: number;
  /** The address or name; `null` for every address, or for loopback only if `isLocal`. */
  readonly hostname: string | null;
  /** Whether a server without `hostname` is reachable only from this machine. */
  readonly isLocal: boolean;
  /** The path of a unix socket or of a Windows pipe; default: `null`, for none. */
  readonly socket?: string | null;
  /** The descriptor of a socket that another program has opened; default: `null`. */
  readonly fd?: number | null;
  /** Whether to accept connections without reading from them, because another process will read; default: `false`. */
  readonly isPaused?: boolean;
}

/** The address at which a server listens. */
export interface Listens {
  /** The port; `0` for a unix socket or a pipe. */
  readonly port: number;
  /** The path of the unix socket or the pipe; `fd:3` if another program has opened it; `null` for a port. */
  readonly socket: string | null;
  /** The servers to close. The first is the server that was passed in. */
  readonly listening: readonly Server[];
}

/** The maximum time between creating a socket and listening at it, in milliseconds. */
const CREATION_MS = 100;

/** The descriptor that systemd passes, if any; see sd_listen_fds(3). */
const FIRST_INHERITED = 3;

/**
 * How many connections the system queues until the process accepts them; the system may have a lower limit (Linux:
 * net.core.somaxconn). With Node's default of 511, a burst of new connections from a proxy overflows the queue. The
 * system drops them silently, and the proxy, which retries after a second, considers the server down.
 */
const BACKLOG = 4096;

/** How often to try another free port if the port that was chosen for IPv4 is in use for IPv6. */
const ATTEMPTS = 10;

/**
 * Makes a server listen.
 *
 * On loopback, it listens on `127.0.0.1` and, if the machine has IPv6, also on `::1`, because programs resolve
 * `localhost` to either.
 *
 * @throws `E_INVALID_CONFIGURATION`, with advice, if it cannot listen there
 */
export async function listen(server: Server, address: ListenAddress): Promise<Listens> {
  const { hostname, isLocal, socket = null, fd = null } = address;
  if (fd !== null) return { ...(await listenAtDescriptor(server, fd)), listening: [server] };
  if (socket !== null) return { port: 0, socket: await listenAtSocket(server, socket), listening: [server] };
  const onLoopback = hostname === null && isLocal;
  for (let attempt = 1; ; attempt += 1) {
    const port = await listenAt(server, address.port, onLoopback ? "127.0.0.1" : hostname, address);
    if (!onLoopback) return { port, socket: null, listening: [server] };
    try {
      const second = await listenAtIPv6(server, port, address);
      return { port, socket: null, listening: second === null ? [server] : [server, second] };
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
    server.listen(port, hostname ?? undefined, BACKLOG);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw listenProblem(error, address);
  }
}

/** Listens on `::1` on behalf of another server; returns `null` if the machine doesn't have that address. */
async function listenAtIPv6(server: Server, port: number, address: ListenAddress): Promise<Server | null> {
  // The options with which `node:http` creates sockets.
  const options = { allowHalfOpen: true, noDelay: true, pauseOnConnect: address.isPaused ?? false };
  const second = createServer(options, (socket) => server.emit("connection", socket));
  second.maxConnections = server.maxConnections;
  try {
    second.listen(port, "::1", BACKLOG);
    await once(second, "listening");
    return second;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") return null;
    throw listenProblem(error, address);
  }
}

/**
 * The descriptor of a socket that systemd has opened for this process; `null` if there isn't one.
 *
 * @throws `E_INVALID_CONFIGURATION` if there are several
 */
export function inheritedDescriptor(environment: EnvironmentVariables): number | null {
  const count = environment.LISTEN_FDS;
  // Child processes inherit the variables too.
  if (environment.LISTEN_PID !== String(process.pid) || !count || count === "0") return null;
  if (count === "1") return FIRST_INHERITED;
  const problem = `is ${JSON.stringify(count)}, and the application listens at one socket.`;
  throw new ConfigurationError(
    "Environment variable LISTEN_FDS",
    problem,
    "Write one ListenStream= in the .socket unit.",
  );
}

/** Whether a path is that of a Windows pipe. */
export function isPipe(path: string): boolean {
  return /^[\\/]{2}[.?][\\/]pipe[\\/]/i.test(path);
}

async function listenAtDescriptor(server: Server, fd: number): Promise<Omit<Listens, "listening">> {
  try {
    server.listen({ fd });
    await once(server, "listening");
  } catch {
    const problem = `File descriptor ${fd} is not a socket that listens.`;
    throw new ConfigurationError(
      "Environment variable LISTEN_FDS",
      problem,
      "Write Accept=no and ListenStream= in the .socket unit.",
    );
  }
  const bound = server.address();
  return typeof bound === "object" && bound !== null
    ? { port: bound.port, socket: null }
    : { port: 0, socket: `fd:${fd}` };
}

async function listenAtSocket(server: Server, path: string): Promise<string> {
  const isNamed = isPipe(path);
  if (isNamed && process.platform !== "win32") {
    throw new ConfigurationError(
      `Pipe ${path}`,
      "Only Windows has such pipes.",
      "Use a path, as in PORT=/run/app.sock",
    );
  }
  const where = isNamed ? path : resolve(path);
  if (!isNamed) await removeStale(where);
  try {
    server.listen({ path: where, backlog: BACKLOG });
    await once(server, "listening");
    if (!isNamed) keepOthersSocket(server, where);
    return where;
  } catch (error) {
    throw socketProblem(error, where);
  }
}

/**
 * Keeps a server from removing another program's socket when it closes. If the server's own socket file was removed by
 * hand, another program may now be listening at the path, and libuv removes whatever has that name.
 */
function keepOthersSocket(server: Server, path: string): void {
  const own = lstatSync(path, { throwIfNoEntry: false });
  const close = server.close.bind(server);
  server.close = (done) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    const isOthers = found !== undefined && (found.ino !== own?.ino || found.dev !== own.dev);
    const restore = isOthers ? linked(path) : null;
    close(done);
    restore?.();
    return server;
  };
}

/** Creates a hard link to a file, so that the returned function can restore the file. */
function linked(path: string): () => void {
  const kept = join(dirname(path), `.${randomUUID().slice(0, 8)}`);
  try {
    linkSync(path, kept);
  } catch {
    // If this user isn't permitted to create a link, libuv can't remove the file either.
    return () => {};
  }
  return () => {
    renameSync(kept, path);
    // If both names still exist, renaming one to the other changes nothing.
    rmSync(kept, { force: true });
  };
}

/** Removes a socket that a program left behind, if no process listens at it anymore. */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket()) {
    throw new ConfigurationError(
      `Socket ${path}`,
      "There is something else, not a socket.",
      "Choose another path, or remove it.",
    );
  }
  const failure = await failureAt(path);
  // Another process has removed the socket in the meantime.
  if (failure.code === "ENOENT") return;
  if (failure.code !== "ECONNREFUSED") throw socketProblem(failure, path);
  await setAside(path);
}

/**
 * Removes a socket at which no process listens. Another process may have just replaced it, so moves it first, and moves
 * it back if a process does listen at it.
 */
async function setAside(path: string): Promise<void> {
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    // Another process has removed it first.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw socketProblem(error, path);
  }
  // A process that has just created it may not be listening yet.
  await setTimeout(CREATION_MS);
  const failure = await failureAt(aside);
  if (failure.code === "ECONNREFUSED") return await unlink(aside);
  await rename(aside, path);
  throw socketProblem(failure, path);
}

/**
 * The error from connecting to a socket. Only `ECONNREFUSED` means that no process listens. With other errors, the
 * process may be busy, or this user may not connect to it.
 */
async function failureAt(path: string): Promise<NodeJS.ErrnoException> {
  const client = connect(path);
  const failure = await once(client, "connect").then(
    () => Object.assign(new Error("A program listens at the socket."), { code: "EADDRINUSE" }),
    (error: NodeJS.ErrnoException) => error,
  );
  client.destroy();
  return failure;
}

function socketProblem(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const where = isPipe(path) ? `Pipe ${path}` : `Socket ${path}`;
  // The last code is for a socket of another type, such as a log's.
  if (code === "EADDRINUSE" || code === "EAGAIN" || code === "EPROTOTYPE") {
    return new ConfigurationError(where, "Another program is using it.", "Choose another, or end that program.");
  }
  // ENOENT may be reported as EACCES.
  if (code === "ENOENT" || code === "ENOTDIR" || (!isPipe(path) && !existsSync(dirname(path)))) {
    return new ConfigurationError(
      where,
      "Its folder doesn't exist.",
      "Create it, as RuntimeDirectory= of systemd does.",
    );
  }
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    return new ConfigurationError(
      where,
      "This user may not create it.",
      "Choose a folder that this user may write to.",
    );
  }
  if (code === "EINVAL" || code === "ENAMETOOLONG") {
    return new ConfigurationError(where, "The path is too long for a socket.", "Choose one of at most 100 bytes.");
  }
  return error;
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
