import { EventEmitter } from "node:events";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { RedisClient } from "./redis-client.ts";
import { RedisConnection, redisScript } from "./redis-connection.ts";
import { readRedisSettings } from "./redis-settings.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  return () => void vi.useRealTimers();
});

/** A fake client that the test controls. */
class ToldClient extends EventEmitter {
  status = "wait";
  readonly sent: string[] = [];
  readonly connecting: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  /** Responds to a command; by default at once, with the command's name. */
  answer: (name: string) => Promise<unknown> = async (name) => name;
  isDisconnected = false;

  connect(): Promise<void> {
    this.status = "connecting";
    return this.connecting.promise;
  }

  disconnect(): void {
    this.isDisconnected = true;
  }

  call(name: string): Promise<unknown> {
    this.sent.push(name);
    return this.answer(name);
  }

  defineCommand(name: string): void {
    Object.assign(this, { [name]: () => this.call("script") });
  }

  ready(): void {
    this.status = "ready";
    this.emit("ready");
  }
}

function make(url = "redis://127.0.0.1") {
  const client = new ToldClient();
  const [created, loaded] = [vi.fn(), Promise.withResolvers<void>()];
  const settings = readRedisSettings({ url, commandTimeoutMs: 1000 }, { where: "test", root: "." }, "Shop");
  const connection = new RedisConnection(settings, async () => {
    created();
    await loaded.promise;
    return client as unknown as RedisClient;
  });
  onTestFinished(() => connection.close());
  /** Sends a command, and returns its outcome. `is` is missing until the command ends. */
  const send = (name = "PING", begin: () => Promise<unknown> = () => connection.command(name)) => {
    const outcome: { is?: string } = {};
    begin().then(
      (answer) => Object.assign(outcome, { is: String(answer) }),
      (error: Error) => Object.assign(outcome, { is: error.message.replace("Redis can't be used: ", "") }),
    );
    return outcome;
  };
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  /** Connects, and completes one command. */
  const connected = async () => {
    loaded.resolve();
    const first = send();
    await pass(0);
    client.ready();
    await pass(0);
    expect(first.is).toBe("PING");
  };
  return { client, created, loaded, connection, send, pass, connected };
}

test("the first connection may take five seconds, and its command then has the usual time", async () => {
  const { client, loaded, send, pass } = make();
  const outcome = send();
  // The time to load the client's code doesn't count.
  await pass(60_000);
  loaded.resolve();
  await pass(4999);
  expect(outcome.is).toBeUndefined();
  client.answer = () => new Promise(() => {});
  client.ready();
  await pass(999);
  expect([outcome.is, client.sent]).toEqual([undefined, ["PING"]]);
  await pass(1);
  expect(outcome.is).toBe("no answer within 1000 ms.");
});

test("without a first connection in five seconds, commands fail, and those after them at once", async () => {
  const { client, loaded, send, pass } = make();
  loaded.resolve();
  const first = send();
  await pass(5000);
  expect(first.is).toBe("no answer within 5000 ms.");
  const next = send();
  await pass(0);
  expect([next.is, client.sent]).toEqual(["no answer within 5000 ms.", []]);
  client.ready();
  const later = send();
  await pass(0);
  expect(later.is).toBe("PING");
});

test("after a loss, a command waits for the connection no longer than for a response, and the next one not at all", async () => {
  const { client, send, pass, connected } = make();
  await connected();
  client.status = "reconnecting";
  const waiting = send();
  await pass(999);
  expect(waiting.is).toBeUndefined();
  await pass(1);
  expect(waiting.is).toBe("no answer within 1000 ms.");
  const next = send();
  await pass(0);
  expect(next.is).toBe("no answer within 1000 ms.");
});

test("the time of a completed command has no effect on a later loss", async () => {
  const { client, send, pass, connected } = make();
  await connected();
  await pass(60_000);
  client.status = "reconnecting";
  const waiting = send();
  await pass(500);
  expect(waiting.is).toBeUndefined();
  client.ready();
  await pass(0);
  expect(waiting.is).toBe("PING");
  expect(vi.getTimerCount()).toBe(0);
});

test("an error next to a working connection has no effect on a later loss", async () => {
  const { client, send, pass, connected } = make();
  await connected();
  client.emit("error", new Error("ETIMEDOUT"));
  client.status = "reconnecting";
  const waiting = send();
  await pass(500);
  expect(waiting.is).toBeUndefined();
  client.emit("error", Object.assign(new Error("no"), { code: "ECONNREFUSED", address: "127.0.0.1", port: 6379 }));
  await pass(0);
  expect(waiting.is).toBe("ECONNREFUSED 127.0.0.1:6379.");
});

test("a first attempt that fails reports the earlier reason, or else its own", async () => {
  for (const isTold of [true, false]) {
    const { client, loaded, send, pass } = make();
    loaded.resolve();
    const first = send();
    await pass(0);
    if (isTold) client.emit("error", Object.assign(new Error("no"), { code: "ECONNREFUSED" }));
    client.connecting.reject(new Error("Connection is closed."));
    const next = send();
    await pass(0);
    const reason = isTold ? "ECONNREFUSED." : "the connection was lost.";
    expect([first.is, next.is]).toEqual([reason, reason]);
  }
});

test("only commands that wait now are counted, however many have waited before", async () => {
  const { client, send, pass, connected } = make();
  await connected();
  for (let round = 0; round < 3; round++) {
    client.status = "reconnecting";
    const waiting = Array.from({ length: 900 }, () => send());
    await pass(1);
    client.ready();
    await pass(0);
    expect(new Set(waiting.map(({ is }) => is))).toEqual(new Set(["PING"]));
  }
});

test("a connection that is closed before it was used is never made", async () => {
  const { created, connection, send, pass } = make();
  connection.close();
  const outcome = send();
  await pass(0);
  expect([outcome.is, created.mock.calls]).toEqual(["the connection was closed.", []]);
});

test("a connection that is closed while the client's code loads is ended, and nothing is sent", async () => {
  const { client, loaded, connection, send, pass } = make();
  const outcome = send();
  connection.close();
  client.status = "ready";
  loaded.resolve();
  await pass(0);
  expect([outcome.is, client.isDisconnected, client.sent]).toEqual(["the connection was closed.", true, []]);
});

test("closing ends the waiting of commands at once", async () => {
  const { client, connection, send, pass, connected } = make();
  await connected();
  client.status = "reconnecting";
  const outcome = send();
  await pass(1);
  connection.close();
  await pass(0);
  expect(outcome.is).toBe("the connection was closed.");
});

test("a closed connection is not reopened, whatever its client does", async () => {
  const { client, connection, send, pass, connected } = make();
  await connected();
  const connect = vi.spyOn(client, "connect");
  client.status = "end";
  // The client has stopped trying, and is about to be reconnected.
  client.emit("end");
  connection.close();
  expect(client.isDisconnected).toBe(false);
  await pass(60_000);
  expect([connect.mock.calls, client.isDisconnected]).toEqual([[], true]);
  client.emit("end");
  await pass(60_000);
  client.ready();
  const outcome = send();
  await pass(0);
  expect([connect.mock.calls, outcome.is, client.sent]).toEqual([[], "the connection was closed.", ["PING"]]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a client that has given up is made to reconnect, unless it has already begun to", async () => {
  const { client, send, pass, connected } = make();
  await connected();
  const connect = vi.spyOn(client, "connect");
  client.status = "connecting";
  client.emit("end");
  await pass(100);
  expect(connect).not.toHaveBeenCalled();
  client.status = "end";
  client.emit("end");
  await pass(99);
  expect(connect).not.toHaveBeenCalled();
  await pass(1);
  expect(connect).toHaveBeenCalledTimes(1);
  client.ready();
  const outcome = send();
  await pass(0);
  expect(outcome.is).toBe("PING");
});

test("a connection whose client can't be created can be closed", async () => {
  const settings = readRedisSettings({ url: "redis://127.0.0.1" }, { where: "test", root: "." }, "Shop");
  const connection = new RedisConnection(settings, () => Promise.reject(new Error("no code")));
  await expect(connection.command("PING")).rejects.toThrow("the connection was lost");
  connection.close();
  await expect(connection.command("PING")).rejects.toThrow("the connection was closed");
});

test("a cluster's nodes are not asked for their role, because one replica says nothing about the others", async () => {
  for (const [url, message] of [
    ["redis://127.0.0.1", "the server is a read-only replica (READONLY)."],
    ["redis-cluster://127.0.0.1", "undefined"],
  ] as const) {
    const { client, connection, send, pass, connected } = make(url);
    client.answer = async (name) => (name === "ROLE" ? ["slave"] : name);
    await connected();
    const outcome = send("check", () => connection.check());
    await pass(0);
    expect(outcome.is).toBe(message);
  }
});

test("a script is defined once for each client", async () => {
  const { client, connection, send, pass, connected } = make();
  await connected();
  const define = vi.spyOn(client, "defineCommand");
  const script = redisScript(1, "return 1");
  const outcomes = [1, 2].map(() => send("script", () => connection.script(script, "key")));
  await pass(0);
  expect([outcomes.map(({ is }) => is), define.mock.calls.length]).toEqual([["script", "script"], 1]);
});
