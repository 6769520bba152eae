import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

const CHANNEL = "+switch-master";

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const list = (...items: readonly string[]): string => `*${items.length}\r\n${items.map(bulk).join("")}`;

/** A fake Sentinel that reports whichever master a test sets, and announces a new one. */
export class ToldSentinel {
  /** The port of the server that it names. */
  master: number;
  /** Whether it accepts connections but doesn't respond. */
  isSilent = false;
  /** The commands that it received, in order, with their words joined by a space. */
  readonly asked: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #subscribers = new Set<Socket>();

  private constructor(master: number) {
    this.master = master;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** @param master the port of the server that it names at first */
  static async start(master: number): Promise<ToldSentinel> {
    const sentinel = new ToldSentinel(master);
    await once(sentinel.#server.listen(0, "127.0.0.1"), "listening");
    return sentinel;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections are subscribed to the message about a new master. */
  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Reports another server from now on, and notifies subscribers. */
  switchTo(master: number): void {
    const message = list("message", CHANNEL, `main 127.0.0.1 ${this.master} 127.0.0.1 ${master}`);
    this.master = master;
    for (const socket of this.#subscribers) socket.write(message);
  }

  async end(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket
      .on("error", () => {})
      .on("close", () => {
        this.#sockets.delete(socket);
        this.#subscribers.delete(socket);
      });
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      for (let words = next(); words !== null; words = next()) {
        this.asked.push(words.join(" "));
        if (!this.isSilent) socket.write(this.#answer(words, socket));
      }
    });
    /** Takes a complete command from the received data. */
    const next = (): string[] | null => {
      const count = Number(/^\*(\d+)\r\n/.exec(text)?.[1] ?? Number.NaN);
      const command = new RegExp(`^\\*\\d+\\r\\n(?:\\$\\d+\\r\\n[^\\r]*\\r\\n){${count || 1}}`).exec(text)?.[0];
      if (command === undefined) return null;
      text = text.slice(command.length);
      return [...command.matchAll(/\$\d+\r\n([^\r]*)\r\n/g)].map(([, word]) => word!);
    };
  }

  #answer(words: readonly string[], socket: Socket): string {
    const [name, what] = words.map((word) => word.toLowerCase());
    if (name === "sentinel" && what === "get-master-addr-by-name") return list("127.0.0.1", String(this.master));
    if (name === "sentinel") return list();
    // Like servers before Redis 6, so the client logs in with AUTH.
    if (name === "hello") return "-ERR unknown command 'HELLO'\r\n";
    if (name !== "subscribe") return "+OK\r\n";
    this.#subscribers.add(socket);
    return `*3\r\n${bulk("subscribe")}${bulk(CHANNEL)}:1\r\n`;
  }
}
