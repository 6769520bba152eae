import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createSocketServer,
  type Socket,
  type Server as SocketServer,
} from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { listen } from "./listen.ts";

const hasIPv6 = Object.values(networkInterfaces()).some((one) => one?.some(({ address }) => address === "::1"));

/** A server on loopback, which is closed after the test. */
async function listening(answer: RequestListener, maxConnections?: number): Promise<{ server: Server; port: number }> {
  const server = createServer(answer);
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  const { port, listening: servers } = await listen(server, { port: 0, hostname: null, isLocal: true });
  onTestFinished(() => {
    server.closeAllConnections();
    for (const one of servers) one.close();
  });
  return { server, port };
}

function open(port: number, host: string): Socket {
  const socket = connect({ port, host });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe.each(["127.0.0.1", "::1"].filter((host) => host !== "::1" || hasIPv6))("at %s", (host) => {
  test("at most maxConnections connections are kept open", async () => {
    const { port } = await listening((_request, response) => void response.end("hello"), 1);
    const first = open(port, host);
    first.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(first, "data");
    const second = open(port, host);
    second.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let answered = "";
    second.on("data", (piece) => (answered += piece));
    await once(second, "close");
    expect(answered).toBe("");
    first.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(String((await once(first, "data"))[0])).toContain("200 OK");
  });
});

describe.skipIf(!hasIPv6)("a port whose IPv6 side another program is using", () => {
  async function socketServer(port: number, host: string): Promise<SocketServer> {
    const server = createSocketServer().listen(port, host);
    await once(server, "listening");
    return server;
  }

  /** A port that is free on 127.0.0.1 only. */
  async function halfTaken(): Promise<number> {
    for (;;) {
      const other = await socketServer(0, "::1");
      const { port } = other.address() as AddressInfo;
      const free = await socketServer(port, "127.0.0.1").catch(() => null);
      if (free !== null) {
        onTestFinished(() => void other.close());
        await new Promise((resolve) => free.close(resolve));
        return port;
      }
      other.close();
    }
  }

  /** A server to which the system assigns this port the first `times` times that it requests any port. */
  function unlucky(port: number, times: number): { readonly server: Server; readonly asked: unknown[] } {
    const server = createServer((_request, response) => void response.end("hello"));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const asked: unknown[] = [];
    const { listen: listenAt } = server;
    server.listen = (wanted: unknown, host: unknown) => {
      asked.push(wanted);
      const given = wanted === 0 && asked.length <= times ? port : wanted;
      return Reflect.apply(listenAt, server, [given, host]) as Server;
    };
    return { server, asked };
  }

  const loopback = (port: number) => ({ port, hostname: null, isLocal: true });

  test("is replaced by another if any port will do", async () => {
    const taken = await halfTaken();
    const { server, asked } = unlucky(taken, 3);
    const { port, listening: servers } = await listen(server, loopback(0));
    onTestFinished(() => void servers[1]?.close());
    expect(asked).toEqual([0, 0, 0, 0]);
    expect(port).not.toBe(taken);
    for (const host of ["127.0.0.1", "[::1]"])
      expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe("hello");
  });

  test("is an error if it was requested or no other is free, and the server stops listening", async () => {
    const taken = await halfTaken();
    for (const [wanted, attempts] of [
      [taken, 1],
      [0, 10],
    ] as const) {
      const { server, asked } = unlucky(taken, Number.POSITIVE_INFINITY);
      await expect(listen(server, loopback(wanted))).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
      expect([asked.length, server.listening]).toEqual([attempts, false]);
    }
  });
});

test.skipIf(process.platform !== "linux")(
  "of two processes that find the same stale socket, one listens, and the other reports that it is in use",
  async () => {
    const path = join(folderWith({}), "app.sock");
    const source = `import { createServer } from "node:net";
      const { listen } = await import(${JSON.stringify(join(import.meta.dirname, "listen.ts"))});
      let server = null;
      process.on("message", async ({ at }) => {
        if (at === null) return server.close(() => process.send("closed"));
        while (Date.now() < at);
        server = createServer((socket) => socket.on("error", () => {}).end(String(process.pid)));
        const address = { port: 0, hostname: null, isLocal: true, socket: ${JSON.stringify(path)} };
        await listen(server, address).then(() => process.send("listens"), ({ message }) => process.send(message));
      });
      process.send("ready");`;
    const processes = [0, 1].map(() => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      return child;
    });
    const told = (what: object | null) =>
      Promise.all(
        processes.map(async (child) => {
          const answered = once(child, "message");
          if (what !== null) child.send(what);
          return String((await answered)[0]);
        }),
      );
    await told(null);
    for (let round = 0; round < 20; round++) {
      await leaveSocketAt(path);
      const said = await told({ at: Date.now() + 20 });
      const taken = `Socket ${path}: Another program is using it. Choose another, or end that program.`;
      expect(said.toSorted(), `round ${round}`).toEqual([taken, "listens"]);
      const client = connect(path);
      const [pid] = await once(client, "data");
      expect(String(pid)).toBe(String(processes[said.indexOf("listens")]!.pid));
      await told({ at: null });
    }
  },
  60_000,
);

/** Leaves a socket file that no process listens on. */
async function leaveSocketAt(path: string): Promise<void> {
  const source = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
  await once(spawn(process.execPath, ["-e", source, path]), "exit");
}

// Other systems have a lower limit.
test.skipIf(process.platform !== "linux")(
  "S150 a burst of connections waits for a process that is busy, instead of being dropped",
  async () => {
    const source = `import { createServer } from "node:net";
      import { writeSync } from "node:fs";
      import { listen } from ${JSON.stringify(join(import.meta.dirname, "listen.ts"))};
      const { port } = await listen(createServer(), { port: 0, hostname: "127.0.0.1", isLocal: true });
      writeSync(1, String(port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
    const program = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void program.kill("SIGKILL"));
    const [port] = await once(program.stdout, "data");
    const burst = Array.from({ length: 1000 }, () => connect(Number(port), "127.0.0.1"));
    onTestFinished(() => burst.forEach((socket) => void socket.destroy()));
    await Promise.all(burst.map((socket) => once(socket, "connect")));
  },
);

// Elsewhere, a full queue looks like a socket that no process listens on.
test.skipIf(process.platform !== "linux")(
  "the socket of a program that is too busy to take connections is left alone",
  async () => {
    const path = join(folderWith({}), "busy.sock");
    const source = `require("node:net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
      require("node:fs").writeSync(1, "listening");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    })`;
    const program = spawn(process.execPath, ["-e", source, path], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void program.kill("SIGKILL"));
    await once(program.stdout, "data");
    const { ino } = lstatSync(path);
    for (let count = 0; count < 2; count++) {
      const waiting = connect(path);
      onTestFinished(() => void waiting.destroy());
      await once(waiting, "connect");
    }
    const server = createServer();
    onTestFinished(() => void server.close());
    await expect(listen(server, { port: 0, hostname: null, isLocal: true, socket: path })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("Another program is using it."),
    });
    expect([server.listening, lstatSync(path).ino]).toEqual([false, ino]);
  },
);

test.skipIf(process.platform === "win32")(
  "a socket whose file was removed by hand leaves the file of the program that has listened there since",
  async () => {
    const folder = folderWith({});
    const path = join(folder, "app.sock");
    const begin = async () => {
      const server = createServer();
      onTestFinished(() => void server.close());
      await listen(server, { port: 0, hostname: null, isLocal: true, socket: path });
      return server;
    };
    const close = (server: Server) => new Promise((done) => server.close(done));
    const old = await begin();
    rmSync(path);
    const successor = await begin();
    const { ino } = lstatSync(path);
    await close(old);
    expect([readdirSync(folder), lstatSync(path).ino]).toEqual([["app.sock"], ino]);
    const client = connect(path);
    await once(client, "connect");
    client.destroy();
    await close(successor);
    expect(readdirSync(folder)).toEqual([]);
  },
);

// Node.js can't create such a socket itself.
test.skipIf(process.platform !== "linux")("a socket for datagrams is left alone, and the error says so", async () => {
  const path = join(folderWith({}), "log.sock");
  const source = `import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("bound", flush=True); sys.stdin.read()`;
  const program = spawn("/usr/bin/python3", ["-c", source, path], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void program.kill("SIGKILL"));
  await once(program.stdout, "data");
  const server = createServer();
  onTestFinished(() => void server.close());
  await expect(listen(server, { port: 0, hostname: null, isLocal: true, socket: path })).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
    message: expect.stringContaining("Another program is using it."),
  });
  expect(lstatSync(path).isSocket()).toBe(true);
});
