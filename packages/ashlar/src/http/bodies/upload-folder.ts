import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

/** The prefix of the names of all upload folders. */
const PREFIX = "ashlar-uploads-";

/**
 * The name of the entry that shows whether a folder is in use: a socket that its process listens on, or a file with the
 * process's id and the id's scope.
 */
const OWNER = "owner";

/** How long a process may take to create that entry. */
const STARTING_MS = 60_000;

/** A folder from another machine, or from before a restart, counts as a leftover after this time without a new file. */
const FOREIGN_MS = 86_400_000;

/**
 * The longest path that a socket may have on all systems, in bytes. macOS has room for 104, including the final zero.
 */
const MAX_SOCKET_PATH = 103;

/** A file that is open for writing. */
export interface OpenedFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/**
 * One process's folder for uploads that are too large for memory, inside a folder that processes may share. It is
 * created with the first file.
 *
 * Security: only this user can read it (0700, its files 0600), and no name in it comes from a client or can be guessed.
 */
export class UploadFolder {
  readonly parent: string;
  #path: Promise<string> | null = null;
  #owner: Server | null = null;

  /** @param parent default: the system's folder for temporary files */
  constructor(parent: string | null) {
    this.parent = parent ?? tmpdir();
  }

  /** Creates an empty file. The caller has to remove it. */
  async create(): Promise<OpenedFile> {
    const folder = this.#path ?? this.#make();
    try {
      return await createIn(await folder);
    } catch (error) {
      // A cleanup of temporary folders may have removed it since the last upload.
      if (!isMissing(error) || this.#path !== folder) throw error;
      await this.close();
      return createIn(await this.#make());
    }
  }

  #make(): Promise<string> {
    const path = this.#begin();
    this.#path = path;
    // The next upload tries again.
    path.catch(() => {
      if (this.#path === path) this.#path = null;
    });
    return path;
  }

  async #begin(): Promise<string> {
    await this.removeLeftovers();
    const path = await mkdtemp(join(this.parent, `${PREFIX}${await machine()}-`));
    this.#owner = await showOwner(path);
    return path;
  }

  /**
   * Removes what killed processes left behind. Never rejects.
   *
   * Security: considers only this user's folders. A process's socket shows whether the process still exists, even if it
   * is suspended or in another container.
   */
  async removeLeftovers(): Promise<void> {
    const names = await readdir(this.parent).catch(() => []);
    const folders = names.filter((name) => name.startsWith(PREFIX)).map((name) => join(this.parent, name));
    await Promise.all(folders.map((path) => removeIfLeft(path).catch(ignore)));
  }

  /** Removes the folder with all its files. Never rejects. */
  async close(): Promise<void> {
    const path = this.#path;
    this.#path = null;
    const folder = await path?.catch(() => null);
    const owner = this.#owner;
    this.#owner = null;
    if (typeof folder === "string") await rm(folder, { recursive: true, force: true }).catch(ignore);
    owner?.close();
  }
}

async function createIn(folder: string): Promise<OpenedFile> {
  const path = join(folder, randomUUID());
  return { path, handle: await open(path, "wx", 0o600) };
}

/**
 * An id for the machine since its last boot. Containers on it, which have the same kernel, may share a folder. The
 * state of other machines' processes is unknown.
 */
async function machine(): Promise<string> {
  const id = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(hostname);
  return createHash("sha256").update(id).digest("hex").slice(0, 8);
}

/** The socket gets its name once the process listens, so a refused connection means that the process is gone. */
async function showOwner(folder: string): Promise<Server | null> {
  const path = join(folder, OWNER);
  try {
    if (process.platform === "win32") throw new Error("There are no sockets with a path.");
    const server = await withShortPath(folder, `${OWNER}.new`, listenAt);
    await rename(`${path}.new`, path);
    return server;
  } catch {
    // The file system has no sockets, or the path is too long and the system isn't Linux.
    await writeFile(path, `${process.pid} ${await processIds()}`);
    return null;
  }
}

/**
 * Uses a name in a folder through a path that is short enough for a socket. On Linux, an open folder has a short path
 * through its descriptor, and the socket is still created in the folder itself, where other containers can find it.
 */
async function withShortPath<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH || process.platform !== "linux") return use(path);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await use(`/proc/self/fd/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

/** Identifies the process namespace: containers have separate ids, and an id from one means nothing in another. */
function processIds(): Promise<string> {
  return readlink("/proc/self/ns/pid").catch(hostname);
}

function listenAt(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // A worker of node:cluster would otherwise leave the socket to its primary, which survives it.
    server.listen({ path, exclusive: true }, () => {
      server.off("error", reject).on("error", ignore).unref();
      resolve(server);
    });
  });
}

async function removeIfLeft(folder: string): Promise<void> {
  const found = await lstat(folder);
  const isOwn = found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid());
  if (isOwn && (await isLeft(folder, Date.now() - found.mtimeMs))) await rm(folder, { recursive: true, force: true });
}

async function isLeft(folder: string, ageMs: number): Promise<boolean> {
  if (!folder.includes(`${PREFIX}${await machine()}-`)) return ageMs > FOREIGN_MS;
  const owner = join(folder, OWNER);
  const found = await lstat(owner).catch(() => null);
  if (found === null) return ageMs > STARTING_MS;
  if (found.isSocket()) return withShortPath(folder, OWNER, isRefused);
  const [pid, ids] = (await readFile(owner, "utf8")).split(" ");
  // Another process may have this id by now, and an id from another container can't be looked up.
  return ageMs > FOREIGN_MS || (ids === (await processIds()) && !isRunning(Number(pid)));
}

function isRefused(path: string): Promise<boolean> {
  const socket = connect(path);
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(false));
    // Other errors, such as a full queue, mean that a process is listening.
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  }).then((isLeft) => {
    socket.destroy();
    return isLeft as boolean;
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function ignore(): void {}
