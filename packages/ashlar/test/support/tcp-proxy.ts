import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "./free-port.ts";

/** Forwards connections to another server until a test stops or freezes it. */
export interface TcpProxy {
  readonly port: number;
  /** Begins to listen, on the same port each time. */
  start(): Promise<void>;
  /** Ends all connections, and refuses new ones. */
  stop(): Promise<void>;
  /** Keeps all connections but forwards nothing, like a server that hangs. */
  freeze(): void;
}

/**
 * Creates a proxy for a free port; it doesn't listen yet.
 *
 * @param target the server's port on this machine
 */
export async function tcpProxy(target: number, host = "127.0.0.1"): Promise<TcpProxy> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let server: Server | null = null;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  };
  const pass = (from: Socket, to: Socket): void => {
    from.on("data", (data) => isFrozen || to.write(data));
    from.on("close", () => isFrozen || to.destroy());
  };
  return {
    port,
    async start() {
      isFrozen = false;
      server = createServer((client) => {
        const upstream = keep(connect(target, host));
        pass(keep(client), upstream);
        pass(upstream, client);
      }).listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    async stop() {
      const closed = new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
      for (const socket of sockets) socket.destroy();
      await closed;
      server = null;
    },
    freeze() {
      isFrozen = true;
    },
  };
}
