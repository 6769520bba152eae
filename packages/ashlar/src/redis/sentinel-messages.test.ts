// Messages from Sentinels that arrive at the worst moment.
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { RedisServer } from "../../test/support/redis-server.ts";
import { withProgram } from "../../test/support/system-programs.ts";
import { RedisConnection } from "./redis-connection.ts";
import { readRedisSettings } from "./redis-settings.ts";

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const list = (...texts: readonly string[]): string => `*${texts.length}\r\n${texts.map(bulk).join("")}`;

/** A Sentinel whose answers the test can hold back, but not its messages. */
class HeldSentinel {
  port = 0;
  /** How often a client has asked for the server's address. */
  questions = 0;
  readonly #subscribers = new Set<Socket>();
  #held: (() => void)[] | null = null;

  async start(serverPort: number): Promise<this> {
    const server = createServer((socket) => {
      socket.on("error", () => {}).on("close", () => this.#subscribers.delete(socket));
      socket.on("data", (data) => {
        // Each command is an array of strings. Clients wait for the answers to most commands.
        for (const command of data.toString().split(/(?=^\*\d+\r$)/m)) {
          const words = [...command.matchAll(/^\$\d+\r\n(.*)\r$/gm)].map(([, word]) => word!.toLowerCase());
          if (words.length > 0) this.#answer(socket, words, serverPort);
        }
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    this.port = (server.address() as AddressInfo).port;
    return this;
  }

  #answer(socket: Socket, words: readonly string[], serverPort: number): void {
    if (words.includes("get-master-addr-by-name")) {
      this.questions += 1;
      const answer = () => void socket.write(list("127.0.0.1", String(serverPort)));
      if (this.#held === null) answer();
      else this.#held.push(answer);
    } else if (words.includes("sentinels")) socket.write("*0\r\n");
    else if (words[0] === "subscribe") {
      socket.write(`*3\r\n${bulk("subscribe")}${bulk("+switch-master")}:1\r\n`);
      this.#subscribers.add(socket);
    } else if (words[0] === "hello") {
      // Makes the client use the older protocol, in which messages are arrays.
      socket.write("-ERR unknown command 'HELLO'\r\n");
    } else socket.write("+OK\r\n");
  }

  get listeners(): number {
    return this.#subscribers.size;
  }

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const answer of held) answer();
  }

  /** Announces that another server has taken over. */
  tell(): void {
    for (const socket of this.#subscribers)
      socket.write(list("message", "+switch-master", "main 127.0.0.1 1 127.0.0.1 2"));
  }
}

withProgram("redis-server", () => {
  test("that report a failover while a client asks for the server don't end its attempts", async () => {
    const server = await RedisServer.start();
    onTestFinished(() => server.remove());
    const sentinel = await new HeldSentinel().start(server.port);
    const url = `redis+sentinel://127.0.0.1:${sentinel.port}/main`;
    const where = "config/session.ts: SESSION.store";
    // The timeout is longer than the answer is held back.
    const connection = new RedisConnection(
      readRedisSettings({ url, commandTimeoutMs: 60_000 }, { where, root: "." }, "Shop"),
    );
    onTestFinished(() => connection.close());
    expect(await connection.command("PING")).toBe("PONG");
    await expect.poll(() => sentinel.listeners).toBe(1);
    const { questions } = sentinel;
    sentinel.hold();
    await server.stop();
    await expect.poll(() => sentinel.questions).toBeGreaterThan(questions);
    sentinel.tell();
    // The client ends this connection once it has read the message.
    await expect.poll(() => sentinel.listeners).toBe(0);
    sentinel.release();
    await server.start();
    const answer = () => connection.command("PING").catch((error: Error) => error.message);
    await expect.poll(answer).toBe("PONG");
  });

  test("don't restart anything after the connection was closed", async () => {
    const server = await RedisServer.start();
    onTestFinished(() => server.remove());
    const where = "config/session.ts: SESSION.store";
    const connection = new RedisConnection(readRedisSettings({ url: server.url }, { where, root: "." }, "Shop"));
    await connection.command("PING");
    const pauses = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => void vi.restoreAllMocks());
    connection.close();
    await expect.poll(() => connection.usage().isUp).toBe(false);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(pauses.mock.calls.filter(([, ms]) => ms === 100)).toEqual([]);
  });
});
