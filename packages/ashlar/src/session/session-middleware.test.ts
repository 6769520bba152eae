import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Browser, sessionApplication } from "../../test/support/session-application.ts";
import type { Application } from "../boot/index.ts";
import { Route, type RouteEntry } from "../routing/index.ts";
import { AshlarError, setClock } from "../support/index.ts";
import { SessionMiddleware } from "./index.ts";

const MINUTE = 60_000;

afterEach(() => setClock(null));

const ROUTES: readonly RouteEntry[] = [
  Route.get("/", () => "untouched"),
  Route.get("/read", ({ session }) => ({ all: session.all() })),
  Route.get("/put/@key/@value", ({ session, request }) => {
    session.put(request.param("key")!, request.param("value"));
    return "put";
  }),
  Route.get("/forget/@key", ({ session, request }) => {
    session.forget(request.param("key")!);
    return "forgotten";
  }),
  Route.get("/flash/@value", ({ session, request }) => {
    session.flash("status", request.param("value"));
    return "flashed";
  }),
  Route.get("/csrf", ({ csrfField }) => `<form>${csrfField}</form>`),
  Route.get("/id", ({ session }) => session.id),
  Route.get("/regenerate", ({ session }) => session.regenerate().id),
  Route.get("/invalidate", ({ session }) => {
    session.invalidate();
    return "invalidated";
  }),
  Route.get("/fail", async ({ session }) => {
    session.put("before", "failure");
    await Promise.resolve();
    throw new AshlarError("E_FORBIDDEN");
  }),
  Route.get("/fail-at-once", ({ session }) => {
    session.put("before", "failure");
    throw new Error("broken");
  }),
  Route.get("/missing-row", () => Promise.reject(new AshlarError("E_ROW_NOT_FOUND"))),
  Route.get("/big/@bytes:int", ({ session, request }) => {
    session.put("big", "x".repeat(Number(request.param("bytes"))));
    return "big";
  }),
  Route.get("/public/@key", ({ session, request, response }) => {
    session.put(request.param("key")!, 1);
    return response.header("Cache-Control", "public, max-age=60").text("public");
  }),
  Route.get("/public-platform/@key", ({ session, request }) => {
    session.put(request.param("key")!, 1);
    return new Response("public", { headers: { "cache-control": "public, max-age=60" } });
  }),
  Route.get("/read-platform", ({ session }) => {
    return Response.json(session.all(), { headers: { "cache-control": "public", vary: "Accept-Encoding" } });
  }),
  Route.get("/read-anyway", ({ session }) => Response.json(session.all(), { headers: { vary: "*" } })),
  Route.get("/forget-and-fail/@key", ({ session, request }) => {
    session.forget(request.param("key")!);
    throw new AshlarError("E_FORBIDDEN");
  }),
  Route.get("/platform", ({ session }) => {
    session.put("a", "platform");
    return new Response("own", { status: 201, headers: { "x-own": "yes" } });
  }),
];

/** The response of `/read`. */
async function read(browser: Browser): Promise<{ all: object }> {
  return JSON.parse((await browser.send("/read")).text);
}

describe.each(["cookie", "database"])("with the store %s", (store) => {
  const session = { store };
  const create = (): Promise<Application> => sessionApplication({ routes: ROUTES, session, web: [SessionMiddleware] });

  test("a request that does not use the session sets no cookie; nor does one that only reads an empty one", async () => {
    const browser = new Browser(await create());
    for (const path of ["/", "/read", "/forget/a", "/invalidate"]) {
      expect([path, (await browser.send(path)).cookies]).toEqual([path, []]);
    }
    const untouched = await browser.send("/");
    expect([...untouched.headers.keys()].sort()).toEqual(["content-type", "x-content-type-options"]);
  });

  test("stored values are available in later requests, only for this visitor", async () => {
    const application = await create();
    const [ada, bob] = [new Browser(application), new Browser(application)];
    expect((await ada.send("/put/name/Ada")).cookies).toEqual(["session"]);
    await bob.send("/put/name/Bob");
    await ada.send("/put/age/36");
    expect([(await read(ada)).all, (await read(bob)).all]).toEqual([{ name: "Ada", age: "36" }, { name: "Bob" }]);
    expect((await read(new Browser(application))).all).toEqual({});
  });

  test("an unchanged session is not written, and its cookie is not sent again", async () => {
    const browser = new Browser(await create());
    await browser.send("/put/a/1");
    for (const path of ["/", "/read", "/put/a/1", "/forget/b"]) {
      expect([path, (await browser.send(path)).cookies]).toEqual([path, []]);
    }
  });

  test("when the last value is removed, so is the cookie", async () => {
    const browser = new Browser(await create());
    await browser.send("/put/a/1");
    const answer = await browser.send("/forget/a");
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970/),
    ]);
    expect(browser.cookies.size).toBe(0);
  });

  test("the cookie is set and removed with the configured SameSite", async () => {
    const strict = { ...session, sameSite: "strict" };
    const application = await sessionApplication({ routes: ROUTES, session: strict, web: [SessionMiddleware] });
    const browser = new Browser(application);
    for (const path of ["/put/a/1", "/forget/a"]) {
      const [cookie] = (await browser.send(path)).headers.getSetCookie();
      expect([path, cookie]).toEqual([path, expect.stringContaining("; SameSite=Strict")]);
    }
  });

  test("flashed values are gone after one more request, and leave no cookie", async () => {
    const browser = new Browser(await create());
    await browser.send("/flash/Saved");
    await browser.send("/");
    expect((await read(browser)).all).toEqual({ status: "Saved" });
    expect(browser.cookies.size).toBe(0);
    expect((await read(browser)).all).toEqual({});
  });

  test("S18 regenerate keeps the data under another id, and the old cookie is worthless", async () => {
    const application = await create();
    const browser = new Browser(application);
    await browser.send("/put/a/1");
    const id = (await browser.send("/id")).text;
    const old = new Map(browser.cookies);
    expect((await browser.send("/regenerate")).text).not.toBe(id);
    expect((await read(browser)).all).toEqual({ a: "1" });
    expect([...browser.cookies.values()]).not.toEqual([...old.values()]);
    const thief = new Browser(application);
    for (const [name, value] of old) thief.cookies.set(name, value);
    // A sealed cookie keeps its contents; the database keeps nothing.
    expect((await read(thief)).all).toEqual(store === "cookie" ? { a: "1" } : {});
  });

  test("S18 an id that the browser made up is never adopted", async () => {
    const browser = new Browser(await create());
    const planted = "A".repeat(43);
    browser.cookies.set("session", planted);
    expect((await browser.send("/id")).text).not.toBe(planted);
    await browser.send("/put/a/1");
    expect(browser.cookies.get("session")).not.toBe(planted);
  });

  test("S19 invalidate leaves neither data nor cookie", async () => {
    const browser = new Browser(await create());
    await browser.send("/put/a/1");
    await browser.send("/id");
    await browser.send("/invalidate");
    expect(browser.cookies.size).toBe(0);
  });

  test.each(["/fail", "/fail-at-once"])(
    "changes made before %s are saved, and the error's response has the cookie",
    async (path) => {
      const browser = new Browser(await create());
      const answer = await browser.send(path);
      expect([answer.status, answer.cookies]).toEqual([path === "/fail" ? 403 : 500, ["session"]]);
      expect((await read(browser)).all).toEqual({ before: "failure" });
    },
  );

  test("a response that sets the cookie is never cached, and one that depends on the session varies by it", async () => {
    const browser = new Browser(await create());
    const put = await browser.send("/put/a/1");
    expect([put.headers.get("cache-control"), put.headers.get("vary")]).toEqual(["private, no-store", "cookie"]);
    const seen = await browser.send("/read");
    expect([seen.headers.get("cache-control"), seen.headers.get("vary")]).toEqual(["private, no-store", "cookie"]);
  });

  test("S63 no handler can make a response cacheable that sets the cookie", async () => {
    for (const [path, other] of [
      ["/public/a", "/public-platform/b"],
      ["/public-platform/b", "/public/a"],
    ] as const) {
      const browser = new Browser(await create());
      const answer = await browser.send(path);
      expect([answer.cookies, answer.headers.get("cache-control")]).toEqual([["session"], "private, no-store"]);
      expect((await browser.send(path)).headers.get("cache-control")).toBe("public, max-age=60");
      expect((await browser.send(other)).headers.get("cache-control")).toBe("private, no-store");
    }
  });

  test("S63 a response that read an empty session varies by it, and may be cached", async () => {
    const { headers } = await new Browser(await create()).send("/read");
    expect([headers.get("cache-control"), headers.get("vary")]).toEqual([null, "cookie"]);
  });

  test("S63 so does a platform's response with its own Vary", async () => {
    const browser = new Browser(await create());
    expect((await browser.send("/read-platform")).headers.get("vary")).toBe("Accept-Encoding, cookie");
    expect((await browser.send("/read-anyway")).headers.get("vary")).toBe("*");
    await browser.send("/put/a/1");
    expect((await browser.send("/read-platform")).headers.get("vary")).toBe("Accept-Encoding, cookie");
  });

  test("S63 a response that uses up the session's last value is not cached", async () => {
    const browser = new Browser(await create());
    await browser.send("/flash/Saved");
    const { text, cookies, headers } = await browser.send("/read");
    expect([text, cookies]).toEqual(['{"all":{"status":"Saved"}}', ["session"]]);
    expect(headers.get("cache-control")).toBe("private, no-store");
  });

  test("the handler's own Response has the cookie too", async () => {
    const answer = await new Browser(await create()).send("/platform");
    expect([answer.status, answer.text, answer.headers.get("x-own"), answer.cookies]).toEqual([
      201,
      "own",
      "yes",
      ["session"],
    ]);
  });

  test("S21 a session ends when it has not been used for its lifetime, and use extends it", async () => {
    let time = Date.UTC(2030, 0, 1);
    setClock(() => time);
    const browser = new Browser(await create());
    await browser.send("/put/a/1");
    for (let hours = 0; hours < 3; hours++) {
      time += 119 * MINUTE;
      expect([hours, (await read(browser)).all]).toEqual([hours, { a: "1" }]);
    }
    time += 120 * MINUTE;
    expect((await read(browser)).all).toEqual({});
    expect(browser.cookies.size).toBe(0);
  });

  test("S21 it ends after its absolute lifetime, however much it is used", async () => {
    let time = Date.UTC(2030, 0, 1);
    setClock(() => time);
    const browser = new Browser(await create());
    await browser.send("/put/a/1");
    for (let minutes = 0; minutes < 1380; minutes += 60) {
      time += 60 * MINUTE;
      expect([minutes, (await read(browser)).all]).toEqual([minutes, { a: "1" }]);
    }
    time += 60 * MINUTE - 1;
    expect((await read(browser)).all).toEqual({ a: "1" });
    time += 1;
    expect((await read(browser)).all).toEqual({});
  });

  test("the cookie lives as long as the session would without use, and no longer than its absolute end", async () => {
    let time = Date.UTC(2030, 0, 1);
    setClock(() => time);
    const browser = new Browser(await create());
    const age = async (path: string) =>
      /Max-Age=(\d+)/.exec((await browser.send(path)).headers.getSetCookie()[0] ?? "")?.[1];
    expect(await age("/put/a/1")).toBe(String(120 * 60));
    for (let hour = 0; hour < 23; hour++) {
      time += 60 * MINUTE;
      await browser.send("/read");
    }
    time += 30 * MINUTE;
    expect(await age("/read")).toBe(String(30 * 60));
  });

  test("the cookie of a session that ends while it is used lives for a second", async () => {
    let time = Date.UTC(2030, 0, 1);
    setClock(() => time);
    const late = Route.get("/late", ({ session: data }) => {
      data.put("a", 2);
      time += 25 * 60 * MINUTE;
      return "late";
    });
    const routes = [...ROUTES, late];
    const browser = new Browser(await sessionApplication({ routes, session, web: [SessionMiddleware] }));
    await browser.send("/put/a/1");
    const [cookie] = (await browser.send("/late")).headers.getSetCookie();
    expect(cookie).toContain("; Max-Age=1;");
  });

  test.each([
    [120, 5],
    [20, 1],
  ])(
    "a session with a lifetime of %i minutes that is used is saved again every %i, not at each request",
    async (lifetimeMinutes, minutes) => {
      let time = Date.UTC(2030, 0, 1);
      setClock(() => time);
      const limited = { ...session, lifetimeMinutes };
      const browser = new Browser(
        await sessionApplication({ routes: ROUTES, session: limited, web: [SessionMiddleware] }),
      );
      await browser.send("/put/a/1");
      time += minutes * MINUTE - 1;
      expect((await browser.send("/read")).cookies).toEqual([]);
      time += 1;
      expect((await browser.send("/read")).cookies).toEqual(["session"]);
      expect((await browser.send("/read")).cookies).toEqual([]);
    },
  );

  test("S24 interleaved requests each see their own session", async () => {
    const application = await sessionApplication({
      session,
      web: [SessionMiddleware],
      routes: [
        Route.get("/me/@name", async ({ session, request }) => {
          const before = session.get("name");
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
          session.put("name", request.param("name"));
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
          return { before, after: session.get("name") };
        }),
      ],
    });
    const names = Array.from({ length: 300 }, (_, index) => `n${index}`);
    const browsers = names.map(() => new Browser(application));
    for (const before of [false, true]) {
      const pages = await Promise.all(names.map((name, index) => browsers[index]!.send(`/me/${name}`)));
      expect(pages.map((page) => JSON.parse(page.text))).toEqual(
        names.map((name) => ({ before: before ? name : null, after: name })),
      );
    }
  });

  test("S25 with any invalid cookie, the visitor just has no session", async () => {
    const application = await create();
    const owner = new Browser(application);
    // Contains a space, so no random id in a response can match.
    await owner.send("/put/name/Ada%20Lovelace");
    const own = owner.cookies.get("session")!;
    const hostile = fc.oneof(
      fc.string({ unit: "binary-ascii" }),
      fc.base64String({ maxLength: 200 }),
      fc.string({ minLength: 4000, maxLength: 9000 }),
      fc.nat(own.length - 1).map((end) => own.slice(0, end)),
      fc
        .nat(own.length - 1)
        .map((place) => own.slice(0, place) + (own[place] === "x" ? "y" : "x") + own.slice(place + 1)),
      fc.constantFrom(
        "",
        "%",
        "%ff%fe",
        "%00",
        '"',
        "null",
        "{}",
        `${own}; session=${own}x`.slice(own.length + 2),
        `${own}=`,
        ` ,${own}`,
        "__proto__",
      ),
    );
    await fc.assert(
      fc.asyncProperty(hostile, fc.constantFrom("/read", "/id"), async (value, path) => {
        const cookie = `session=${value.replaceAll(/[^\x20-\x7e]|;/g, "~")}`;
        const answer = await new Browser(application).send(path, { headers: { cookie } });
        expect(answer.status).toBe(200);
        expect(answer.text).not.toContain("Ada Lovelace");
      }),
      { numRuns: 150 },
    );
  });

  test("S25 the first of two cookies with the name counts, and bytes that are not text are not a session", async () => {
    const browser = new Browser(await create());
    await browser.send("/put/name/Ada");
    const own = browser.cookies.get("session")!;
    const seen = async (cookie: string) => JSON.parse((await browser.send("/read", { headers: { cookie } })).text).all;
    expect(await seen(`session=${own}; session=garbage`)).toEqual({ name: "Ada" });
    expect(await seen(`session=garbage; session=${own}`)).toEqual({});
    expect(await seen(`session=\xff\xfe${own}`)).toEqual({});
    expect(await seen(`SESSION=${own}; xsession=${own}`)).toEqual({});
  });

  test("S25 a cookie that opens nothing is removed from the browser that sends it", async () => {
    const browser = new Browser(await create());
    browser.cookies.set("session", "garbage");
    await read(browser);
    expect(browser.cookies.size).toBe(0);
  });

  test("a session that is too large is an error with a remedy", async () => {
    const application = await create();
    const messages: string[] = [];
    application.onError((error) => void messages.push((error as Error).message));
    const browser = new Browser(application);
    await browser.send("/put/a/1");
    const [fits, tooMuch] = store === "cookie" ? [2700, 3000] : [65_000, 66_000];
    expect((await browser.send(`/big/${fits}`)).status).toBe(200);
    const answer = await browser.send(`/big/${tooMuch}`);
    expect([answer.status, answer.cookies]).toEqual([500, []]);
    const remedy = {
      cookie: "or keep sessions in the database: store: databaseSessions() in SESSION of config/session.ts.",
      database: "Keep large values in a separate table, and only their ids in the session.",
    }[store];
    expect(messages).toEqual([
      expect.stringMatching(/^The session holds \d+ bytes, but there is only room for \d+\. /),
    ]);
    expect(messages[0]).toContain(remedy);
    expect((await read(browser)).all).toMatchObject({ a: "1" });
    const [held, room] = messages[0]!.match(/\d+/g)!.map(Number);
    if (store === "database") expect(room).toBe(65_536);
    const largest = tooMuch! - (held! - room!);
    expect((await browser.send(`/big/${largest}`)).status).toBe(200);
    expect((await browser.send(`/big/${largest + 1}`)).status).toBe(500);
  });

  test("an error page that shows flashed values uses them up", async () => {
    const application = await create();
    application.errorPage(404, ({ session }) => `<p>${session.get("status")}</p>`);
    const browser = new Browser(application);
    await browser.send("/flash/Saved");
    expect((await browser.send("/missing-row")).text).toBe("<p>Saved</p>");
    await application.container.make("session").settled();
    expect([(await read(browser)).all, browser.cookies.size]).toEqual([{}, 0]);
  });

  test("a form on an error page belongs to the session like any other", async () => {
    const application = await create();
    application.errorPage(403, ({ session, csrfField }) => {
      session.put("seen", true);
      session.put("twice", true);
      return `<form>${csrfField}</form>`;
    });
    const browser = new Browser(application);
    browser.page = await browser.send("/fail");
    expect(browser.token).toMatch(/^[\w-]{86}$/);
    await application.container.make("session").settled();
    expect((await read(browser)).all).toEqual({ before: "failure", seen: true, twice: true });
  });

  test("a value that an error page puts back after the handler removed it is saved", async () => {
    const application = await create();
    application.errorPage(403, ({ session: data }) => {
      data.put("a", "1");
      return "forbidden";
    });
    const browser = new Browser(application);
    await browser.send("/put/a/1");
    expect((await browser.send("/forget-and-fail/a")).text).toBe("forbidden");
    await application.container.make("session").settled();
    expect((await read(browser)).all).toEqual({ a: "1" });
  });
});
