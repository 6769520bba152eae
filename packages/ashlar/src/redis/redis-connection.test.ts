import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../test/support/free-port.ts";
import { emptyApplication } from "../../test/support/redis-application.ts";
import { RedisServer } from "../../test/support/redis-server.ts";
import { withProgram } from "../../test/support/system-programs.ts";
import { RedisConnection, redisScript } from "./redis-connection.ts";
import { leaseRedis } from "./redis-connections.ts";
import { readRedisSettings } from "./redis-settings.ts";

const WHERE = "config/session.ts: SESSION.store";
const STORE = { user: "session", where: WHERE };

withProgram("redis-server", () => {
  let server: RedisServer;
  beforeEach(async () => {
    // Loads the driver first, so that loading it doesn't count toward a command's time limit.
    await import("ioredis");
    server = await RedisServer.start();
  });
  afterEach(() => server.remove());

  function connect(options: object = {}): RedisConnection {
    const connection = new RedisConnection(
      readRedisSettings({ url: server.url, ...options }, { where: WHERE, root: "." }, "Shop"),
    );
    onTestFinished(() => connection.close());
    return connection;
  }

  const messageOf = (command: Promise<unknown>) => {
    return command.then(String, (error: unknown) => (error as Error).message);
  };

  /** How many of Ashlar's connections are open. */
  async function connections(): Promise<number> {
    return String(await server.run("CLIENT", "LIST")).split("name=ashlar ").length - 1;
  }

  test("nothing connects before the first command, and one connection carries all commands after it", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    expect(await connections()).toBe(0);
    await Promise.all(Array.from({ length: 50 }, (_, index) => connection.command("SET", `key ${index}`, index)));
    expect([await connections(), await connection.command("GET", "key 7")]).toEqual([1, "7"]);
  });

  test("the first commands wait for the connection, up to a limit", async () => {
    server.freeze();
    const connection = connect({ commandTimeoutMs: 3000 });
    const messages = await Promise.all(Array.from({ length: 1200 }, () => messageOf(connection.command("PING"))));
    const counts = Map.groupBy(messages, (message) => message);
    expect([...counts].map(([message, list]) => [message, list.length])).toEqual(
      expect.arrayContaining([["Redis can't be used: 1000 commands wait for a connection already.", 200]]),
    );
    server.thaw();
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
  });

  test("a command to a frozen server times out, and those after it don't wait", async () => {
    const connection = connect({ commandTimeoutMs: 2000 });
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
    server.freeze();
    const first = await Promise.all([connection.command("PING"), connection.command("PING")].map(messageOf));
    expect(first[0]).toBe("Redis can't be used: no answer within 2000 ms.");
    // If each command waited, this would take half an hour.
    for (let count = 0; count < 1000; count++) {
      expect(await messageOf(connection.command("PING"))).toMatch(/^Redis can't be used: /);
    }
    server.thaw();
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
  });

  test("the number of commands in flight is limited, whatever the server does", async () => {
    const connection = connect({ commandTimeoutMs: 5000 });
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
    server.freeze();
    const messages = await Promise.all(Array.from({ length: 10_050 }, () => messageOf(connection.command("PING"))));
    expect(messages.filter((message) => message === "Redis can't be used: 10000 commands are under way.")).toHaveLength(
      50,
    );
    server.thaw();
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
  });

  test("a connection that ends between two commands is replaced, and neither fails", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    await connection.command("PING");
    await server.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await expect.poll(connections).toBe(1);
    expect(await connection.command("PING")).toBe("PONG");
  });

  test("a command whose response is lost fails, and is not sent again", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    await connection.command("PING");
    server.freeze();
    const sending = messageOf(connection.command("INCR", "count"));
    await server.stop();
    await server.start();
    expect(await sending).toBe("Redis can't be used: the connection was lost.");
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
    expect(await connection.command("GET", "count")).toBeNull();
  });

  test("a connection to a server that has become read-only is replaced, since its address may lead to another server by now", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    const id = () => connection.command("CLIENT", "ID").catch(() => null);
    const before = await id();
    expect(await id()).toBe(before);
    await server.run("REPLICAOF", "127.0.0.1", await freePort());
    expect(await messageOf(connection.command("SET", "key", 1))).toContain("read-only replica (READONLY)");
    await expect.poll(async () => [null, before].includes((await id()) as string | null)).toBe(false);
  });

  test("a server that restarts is used again", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    await connection.command("PING");
    await server.stop();
    await expect.poll(() => messageOf(connection.command("PING"))).toContain(`ECONNREFUSED 127.0.0.1:${server.port}`);
    await server.start();
    await expect.poll(() => messageOf(connection.command("PING"))).toBe("PONG");
  });

  test("a script is defined once, and sent again only to a server that doesn't know it", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    const script = redisScript(1, "return redis.call('INCR', KEYS[1]) + ARGV[1]");
    expect(await connection.script(script, "count", 10)).toBe(11);
    expect(await connection.script(script, "count", 10)).toBe(12);
    await server.run("SCRIPT", "FLUSH");
    expect(await connection.script(script, "count", 10)).toBe(13);
    expect(redisScript(1, "return 1").name).not.toBe(redisScript(1, "return 2").name);
  });

  test("a check reports a replica, which can't be written to, and accepts a user without permission to ask", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    expect(await messageOf(connection.check())).toBe("undefined");
    await server.run("REPLICAOF", "127.0.0.1", await freePort());
    expect(await messageOf(connection.check())).toContain("the server is a read-only replica (READONLY)");
    await server.run("ACL", "SETUSER", "shop", "on", ">secret", "~*", "+@all", "-role");
    expect(await messageOf(connect({ username: "shop", password: "secret", commandTimeoutMs: 60_000 }).check())).toBe(
      "undefined",
    );
  });

  test("a server that requires a user and a password gets them, wherever they are set", async () => {
    await server.run("ACL", "SETUSER", "shop", "on", ">p@ss", "~*", "+@all");
    await server.run("CONFIG", "SET", "requirepass", "for-others");
    const url = server.url.replace("//", "//shop:p%40ss@");
    for (const options of [{ url }, { username: "shop", password: "p@ss" }, { password: "for-others" }]) {
      expect(await messageOf(connect({ ...options, commandTimeoutMs: 60_000 }).command("PING"))).toBe("PONG");
    }
    expect(await messageOf(connect().command("PING"))).toContain("the server asks for a password (NOAUTH)");
  });

  test("a forbidden command is not a failure", async () => {
    await server.run("ACL", "SETUSER", "default", "-role", "-info");
    const connection = connect({ commandTimeoutMs: 60_000 });
    await connection.check();
    expect(await connection.evictionPolicy()).toBeNull();
    expect(connection.usage()).toMatchObject({ isUp: true, failures: 0, reconnects: 0, latency: { count: 2 } });
    await messageOf(connection.command("ROLE"));
    expect(connection.usage()).toMatchObject({ isUp: true, failures: 1, latency: { count: 2 } });
  });

  test("after it was closed, commands fail, and the server has no connection left", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    await connection.command("PING");
    connection.close();
    expect(await messageOf(connection.command("PING"))).toBe("Redis can't be used: the connection was closed.");
    await expect.poll(connections).toBe(0);
  });

  test("closing ends a command that the server doesn't respond to", async () => {
    const connection = connect({ commandTimeoutMs: 60_000 });
    await connection.command("PING");
    server.freeze();
    const sending = messageOf(connection.command("INCR", "count"));
    connection.close();
    expect(await sending).toBe("Redis can't be used: the connection was lost.");
    server.thaw();
  });

  describe("the stores of an application", () => {
    test("share a connection if they have the same settings, until the last one is closed", async () => {
      const { container } = await emptyApplication();
      const lease = (options: object = {}) => {
        const settings = { url: server.url, commandTimeoutMs: 60_000, ...options };
        return leaseRedis(container, settings, STORE);
      };
      const [one, two, other] = [lease(), lease(), lease({ prefix: "other:" })];
      expect([one.connection === two.connection, one.connection === other.connection]).toEqual([true, false]);
      one.release();
      one.release();
      expect(await two.connection.command("PING")).toBe("PONG");
      two.release();
      other.release();
      expect(await messageOf(two.connection.command("PING"))).toContain("the connection was closed");
      const next = lease();
      expect(await next.connection.command("PING")).toBe("PONG");
      next.release();
    });

    test("have metrics under different names, even if two connections have the same purpose", async () => {
      const application = await emptyApplication();
      const lease = (user: string, options: object = {}) =>
        leaseRedis(application.container, { url: server.url, ...options }, { user, where: WHERE });
      const leases = [lease("throttle"), lease("session"), lease("throttle", { prefix: "a:" })];
      leases.push(lease("throttle", { prefix: "b:" }));
      const names = () => Object.keys(application.stats().redis!);
      expect(names()).toEqual(["session,throttle", "throttle", "throttle 2"]);
      leases[0]!.release();
      expect(names()).toEqual(["session", "throttle", "throttle 2"]);
      for (const one of leases) one.release();
      expect(names()).toEqual([]);
    });

    test("S64 don't share one with another application", async () => {
      const applications = [await emptyApplication(), await emptyApplication()];
      const [one, two] = applications.map(({ container }) => leaseRedis(container, { url: server.url }, STORE));
      expect(one!.connection).not.toBe(two!.connection);
      one!.release();
      two!.release();
    });

    test("fail startup without the client's package, with the command that installs it", async () => {
      const { container } = await emptyApplication();
      const missing = (name: string) => {
        throw new Error(`Cannot find module '${name}'`);
      };
      expect(() => leaseRedis(container, { url: server.url }, STORE, missing)).toThrow(
        expect.objectContaining({
          code: "E_MISSING_PACKAGE",
          message: `${WHERE}: needs the package "ioredis". Run: npm install ioredis`,
        }),
      );
    });
  });
});
