import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createLogger } from "../../boot/log/create-logger.ts";
import { TrustedProxies } from "../../http/index.ts";
import { nodeHandler } from "../handlers/node-handler.ts";
import { type FinishedResponse, ResponseBatch } from "./response-batch.ts";

/** A batch with its own clock, which records what it sends, in order. Sending a response takes this long. */
function observed(sendingMs = 0) {
  let ms = 1000;
  const sent: string[] = [];
  const batch = new ResponseBatch(
    ([, answer]) => {
      ms += sendingMs;
      sent.push(answer as unknown as string);
    },
    () => ms,
  );
  return {
    sent,
    pass(milliseconds: number) {
      ms += milliseconds;
    },
    begin: () => batch.begin(),
    add: (name: string) =>
      batch.add([null as unknown as ServerResponse, name as unknown as Response, null] as FinishedResponse),
    /** Runs a handler that takes this long. */
    handle(name: string, milliseconds: number) {
      batch.begin();
      ms += milliseconds;
      this.add(name);
    },
  };
}

describe("S66 responses of quick handlers wait for 0.25 ms at most, and those among slow handlers not at all", () => {
  test("S66 the responses of quick handlers are sent together at the end of the turn, in order", async () => {
    const batch = observed();
    for (const name of ["a", "b", "c"]) batch.handle(name, 0.05);
    expect(batch.sent).toEqual([]);
    await nextTurn();
    expect(batch.sent).toEqual(["a", "b", "c"]);
  });

  test("S66 once the first has waited for 0.25 ms, they are sent within the turn", async () => {
    const batch = observed();
    for (let index = 1; index <= 9; index++) batch.handle(String(index), 0.0625);
    // The fifth was finished exactly 0.25 ms after the first, which isn't too long yet. The sixth one was finished
    // later.
    expect(batch.sent).toEqual(["1", "2", "3", "4", "5", "6"]);
    await nextTurn();
    expect(batch.sent).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  });

  test("S66 a response that has waited for 0.25 ms is sent before the next handler begins", () => {
    const batch = observed();
    batch.handle("quick", 0.05);
    batch.pass(0.25);
    batch.begin();
    expect(batch.sent).toEqual([]);
    batch.pass(0.0625);
    batch.begin();
    expect(batch.sent).toEqual(["quick"]);
  });

  test("S66 a single handler that took long does not count as slow: the process may have been descheduled", async () => {
    const batch = observed();
    batch.handle("long", 3);
    for (const name of ["a", "b"]) batch.handle(name, 0.05);
    batch.handle("long again", 3);
    // Responses that have waited for longer than 0.25 ms are sent.
    expect(batch.sent).toEqual(["long", "a", "b", "long again"]);
    batch.handle("c", 0.05);
    expect(batch.sent).toHaveLength(4);
    await nextTurn();
    expect(batch.sent.at(-1)).toBe("c");
  });

  test("S66 the responses of two slow handlers are sent immediately, and so are the 63 after them", async () => {
    const batch = observed();
    batch.handle("slow", 5);
    expect(batch.sent).toEqual([]);
    batch.handle("slow again", 5);
    expect(batch.sent).toEqual(["slow", "slow again"]);
    for (let index = 1; index <= 63; index++) {
      batch.handle(String(index), 0.05);
      expect(batch.sent.at(-1)).toBe(String(index));
    }
    batch.handle("64", 0.05);
    expect(batch.sent.at(-1)).toBe("63");
    await nextTurn();
    expect(batch.sent.at(-1)).toBe("64");
  });

  test.each([1, 3, 19])(
    "S66 if %i quick handlers run between slow ones, only the first slow handler delays a response",
    (quick) => {
      const batch = observed();
      const delayed: string[] = [];
      for (let round = 1; round <= 100; round++) {
        for (let index = 1; index <= quick; index++) batch.handle(`before ${round}`, 0.05);
        const sent = batch.sent.length;
        batch.handle("slow", 20);
        delayed.push(...batch.sent.slice(sent, -1));
      }
      expect([...new Set(delayed)]).toEqual(["before 1"]);
    },
  );

  test.each([
    [2, 1],
    [1, 2],
  ])(
    "S66 asynchronous handlers count as slow by their time before the first await: %i in each of %i turns",
    async (each, turns) => {
      const batch = observed();
      for (let turn = 0; turn < turns; turn++) {
        for (let count = 0; count < each; count++) {
          batch.begin();
          batch.pass(5);
        }
        await nextTurn();
      }
      batch.handle("quick", 0.05);
      expect(batch.sent).toEqual(["quick"]);
    },
  );

  test("S66 time between turns does not count for any handler", async () => {
    const batch = observed();
    batch.begin();
    await nextTurn();
    batch.pass(50);
    batch.add("one");
    batch.handle("two", 0.05);
    expect(batch.sent).toEqual([]);
    await nextTurn();
    expect(batch.sent).toEqual(["one", "two"]);
  });

  test("S66 sending responses before a handler begins does not count as that handler's time", () => {
    const batch = observed(0.5);
    for (const name of ["a", "b", "c", "d"]) {
      batch.handle(name, 0.05);
      batch.pass(0.3);
    }
    batch.handle("e", 0.05);
    expect(batch.sent).toEqual(["a", "b", "c", "d"]);
  });

  test("S66 sending responses between the ends of two asynchronous handlers does not count for the second", () => {
    const batch = observed(0.5);
    for (let count = 0; count < 100; count++) batch.begin();
    const lengths = Array.from({ length: 100 }, (_, index) => {
      batch.pass(0.2);
      batch.add(String(index));
      return batch.sent.length;
    });
    // Every third handler ends more than 0.25 ms after the first one whose response is waiting.
    expect(lengths).toEqual(Array.from({ length: 100 }, (_, index) => index + 1 - ((index + 1) % 3)));
  });

  test("S66 asynchronous handlers that end in later turns do not count as slow", async () => {
    const batch = observed();
    for (const name of ["one", "two", "three"]) {
      batch.begin();
      await nextTurn();
      batch.pass(50);
      batch.add(name);
      await nextTurn();
    }
    batch.handle("quick", 0.05);
    expect(batch.sent).toEqual(["one", "two", "three"]);
  });

  test("S66 each asynchronous handler that ends in the same turn counts the time since the previous one", async () => {
    const batch = observed();
    for (let count = 0; count < 3; count++) batch.begin();
    for (const name of ["one", "two", "three"]) {
      batch.pass(0.2);
      batch.add(name);
    }
    // The first has waited for longer than 0.25 ms, and the others are sent along with it.
    expect(batch.sent).toEqual(["one", "two", "three"]);
    await nextTurn();
    batch.handle("quick", 0.05);
    expect(batch.sent).toHaveLength(3);
  });

  test("S66 over sockets, every response of slow handlers but the first is sent before the next handler begins", async () => {
    let ms = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => ms);
    onTestFinished(() => clock.mockRestore());
    const order: string[] = [];
    const listener = nodeHandler(
      {
        fetch: (request) => {
          order.push(`handle ${new URL(request.url).pathname}`);
          ms++;
          return new Response("done");
        },
        rescue: () => new Response("failed", { status: 500 }),
      },
      new TrustedProxies(),
      createLogger({ name: "test", environment: "test", log: { level: "silent", requests: false } }),
    );
    const server = createServer((message, response) => {
      const end = response.end.bind(response);
      response.end = ((...args: Parameters<typeof end>) => {
        order.push(`send ${message.url}`);
        return end(...args);
      }) as typeof response.end;
      listener(message, response);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    let accepted = 0;
    server.on("connection", () => accepted++);
    const sockets = Array.from({ length: 10 }, () => connect(port, "127.0.0.1"));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    while (accepted < sockets.length) await nextTurn();
    // All at once, so that the server reads them in one turn.
    for (const [index, socket] of sockets.entries()) {
      socket.write(`GET /${index} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    }
    await Promise.all(sockets.map((socket) => once(socket, "data")));
    const names = order.map((line) => line.split(" ")[0]);
    expect(names).toEqual([
      "handle",
      "handle",
      "send",
      "send",
      ...Array.from({ length: 8 }, () => ["handle", "send"]).flat(),
    ]);
  });
});
