import { beforeEach, expect, test } from "vitest";
import { buildApplication } from "../../../test/support/build-application.ts";
import { MemorySessions } from "../../../test/support/memory-sessions.ts";
import { type LoggedLine, loggerInto, saidOfRedis } from "../../../test/support/redis-application.ts";
import { RedisServer } from "../../../test/support/redis-server.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { Route } from "../../routing/index.ts";
import { createTestClient } from "../../testing/index.ts";
import { redisSessions, SessionMiddleware, SessionProvider } from "../index.ts";
import type { RedisSessionsSettings } from "./redis-sessions.ts";

/** On a busy machine, a command may take so long that it counts as an outage. */
const PATIENT = { commandTimeoutMs: 60_000 };

withProgram("redis-server", () => {
  let server: RedisServer;
  let lines: LoggedLine[];
  beforeEach(async () => {
    // The driver is loaded on first use. Loading it here keeps it out of a command's time limit.
    await import("ioredis");
    server = await RedisServer.start();
    lines = [];
    return () => server.remove();
  });

  async function shop(settings: Partial<RedisSessionsSettings> = {}) {
    const application = await buildApplication({
      routes: [
        Route.get("/", () => "hello"),
        Route.get("/name", ({ session }) => String(session.get("name"))),
        Route.get("/put/@name", ({ session, request }) => {
          session.put("name", String(request.param("name")));
          return "kept";
        }),
        Route.get("/confide", ({ session }) => {
          session.put("name", "confidential-word");
          return "kept";
        }),
        Route.get("/leave", ({ session }) => {
          session.invalidate();
          return "bye";
        }),
      ],
      middleware: { web: [SessionMiddleware] },
      providers: [SessionProvider],
      config: { session: { SESSION: { store: redisSessions({ url: server.url, ...PATIENT, ...settings }) } } },
      environment: { APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
      logger: loggerInto(lines),
    });
    const visitor = () => {
      const client = createTestClient(application);
      return async (path: string): Promise<string | number> => {
        const { status, text } = await client.get(path, { headers: { accept: "application/json" } });
        return status === 200 ? text : status;
      };
    };
    return { application, visitor };
  }

  /** Changes a visitor's session until the log says that Redis is back. */
  async function isBack(guest: (path: string) => Promise<string | number>): Promise<void> {
    let changes = 0;
    await expect
      .poll(async () => {
        await guest(`/put/${++changes}`);
        return saidOfRedis(lines).at(-1);
      })
      .toBe("Redis can be used again. Sessions are kept there.");
  }

  test("without Redis, requests with a session are refused, others are not, and no session is lost", async () => {
    const { visitor } = await shop();
    const [ada, guest] = [visitor(), visitor()];
    await ada("/put/Ada");
    await server.run("CONFIG", "SET", "save", "3600 1");
    await server.run("SAVE");
    await server.stop();
    expect([await ada("/name"), await ada("/name"), await guest("/"), await guest("/put/Bob")]).toEqual([
      503,
      503,
      "hello",
      503,
    ]);
    expect(saidOfRedis(lines)).toEqual([
      expect.stringMatching(
        /^Redis can't be used: .+\. Requests with a session are refused until it can be used again\.$/,
      ),
    ]);
    await server.start();
    await expect.poll(() => ada("/name")).toBe("Ada");
    await isBack(visitor());
    expect(saidOfRedis(lines)).toHaveLength(2);
  });

  test("the response to a refused request says when to retry, and nothing about the server", async () => {
    const { application } = await shop({ url: server.url.replace("//", "//ann:secret-word@") });
    const headers = { cookie: `session=${"a".repeat(43)}`, accept: "application/json" };
    const response = await application.fetch(new Request("http://localhost/name", { headers }));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ code: "E_REDIS_UNAVAILABLE" });
    expect(body + JSON.stringify(lines)).not.toMatch(/secret-word|ann|Reply|args/);
    expect(body).not.toContain(String(server.port));
  });

  test("contents are not logged when a session could not be stored", async () => {
    const { visitor } = await shop();
    const ada = visitor();
    await ada("/put/first");
    await server.run("CONFIG", "SET", "maxmemory", "1");
    expect(await ada("/confide")).toBe(503);
    expect(JSON.stringify(lines)).toContain("the server's memory is full (OOM)");
    expect(JSON.stringify(lines)).not.toContain("confidential-word");
  });

  test("with another store, visitors continue with a new session while Redis is down, and keep it afterwards", async () => {
    const other = new MemorySessions();
    const { visitor } = await shop({ whenAway: other, commandTimeoutMs: 3000 });
    const [ada, grace] = [visitor(), visitor()];
    await ada("/put/Ada");
    await grace("/put/Grace");
    server.freeze();
    expect(await ada("/name")).toBe("null");
    expect(await ada("/put/Eve")).toBe("kept");
    expect([await ada("/name"), other.sessions.size]).toEqual(["Eve", 1]);
    server.thaw();
    await isBack(visitor());
    // One visitor made a request in the meantime, and the other didn't.
    expect([await ada("/name"), await grace("/name")]).toEqual(["Eve", "Grace"]);
  });

  test("S19 a visitor who logs out while Redis is down is still logged out when it is back", async () => {
    const { visitor, application } = await shop({ whenAway: new MemorySessions(), commandTimeoutMs: 3000 });
    const client = createTestClient(application);
    await client.get("/put/Ada");
    const cookie = client.cookies.get("session")!;
    server.freeze();
    await client.get("/leave");
    server.thaw();
    const thief = async (): Promise<Response> => {
      return application.fetch(new Request("http://localhost/name", { headers: { cookie: `session=${cookie}` } }));
    };
    expect(await (await thief()).text()).toBe("null");
    // Only a request notices that Redis is back.
    const guest = visitor();
    await expect
      .poll(async () => {
        await guest("/put/Bob");
        return ((await server.run("KEYS", "ashlar:sessions:*")) as string[]).length;
      })
      .toBe(1);
    expect(await (await thief()).text()).toBe("null");
  });
});
