import { describe, expect, onTestFinished, test } from "vitest";
import { plain } from "../../../test/support/field-errors.ts";
import { MemorySessions } from "../../../test/support/memory-sessions.ts";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import "../../redis/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { AshlarError, now, setClock, ValidationError } from "../../support/index.ts";
import { Csrf, SessionMiddleware } from "../index.ts";

const TOO_MUCH = "x".repeat(70_000);

const ROUTES: readonly RouteEntry[] = [
  Route.get("/put/@key", ({ session, request }) => {
    session.put(request.param("key")!, "1");
    return "put";
  }),
  Route.get("/lose", async ({ session }) => {
    session.put("a", 1);
    await dropTable();
    throw new AshlarError("E_FORBIDDEN");
  }),
  Route.get("/overfill", ({ session }) => {
    session.put("a", TOO_MUCH);
    throw new AshlarError("E_FORBIDDEN");
  }),
  Route.get("/fail", () => Promise.reject(new AshlarError("E_FORBIDDEN"))),
  Route.get("/flash", ({ session }) => {
    session.flash("a", 1);
    return "flashed";
  }),
  Route.get("/broken", () => {
    throw new Error("The page of this form is broken.");
  }),
  Route.post("/broken", () => {
    throw new AshlarError("E_TOO_MANY_REQUESTS");
  }),
  Route.get("/often", ({ session }) => session.errors()),
  Route.post("/often", () => {
    throw new AshlarError("E_TOO_MANY_REQUESTS", "Too many.");
  }),
  Route.get("/form", ({ session }) => session.errors()),
  Route.post("/form", () => {
    throw new ValidationError({ name: ["is taken"] });
  }),
  Route.post("/lost-form", async () => {
    await dropTable();
    throw new ValidationError({ name: ["is taken"] });
  }),
];

let application: Application;
let logged: Record<string, unknown>[];

const create = async (store: string): Promise<Browser> => {
  logged = [];
  const session = { store };
  application = await sessionApplication({ routes: ROUTES, session, web: [SessionMiddleware], logged });
  return new Browser(application);
};
const dropTable = (): Promise<void> =>
  application.container.make("database").kysely.schema.dropTable("session_data").execute();
const problems = (): string[] => {
  const lines = logged.filter(({ msg }) => msg === "A session could not be saved.");
  return lines.map(({ err }) => (err as AshlarError).code);
};

test("the site's own error page is rendered if the session can't be read, and the log has one line for the request", async () => {
  logged = [];
  class Away extends MemorySessions {
    override read(): never {
      throw new AshlarError("E_REDIS_UNAVAILABLE", "Redis can't be used.");
    }
  }
  const text = `{{ Object.keys(errors).length }}{{ old("name", "-") }}{{ flash("status", "-") }}{{ csrf_field }}{{ csrf_token() }}`;
  application = await sessionApplication({
    routes: ROUTES,
    session: { store: new Away() },
    views: { error: `<p>Our page: ${text}</p>` },
    logged,
  });
  const browser = new Browser(application);
  browser.cookies.set(application.container.make("session").settings.cookie, "x".repeat(43));
  const { status, text: page } = await browser.send("/form");
  expect([status, page.trim()]).toEqual([503, "<p>Our page: 0--</p>"]);
  expect(logged.filter(({ err }) => err !== undefined)).toHaveLength(1);
});

describe("a handler's own error is the response if the session cannot be saved either", () => {
  test("because its store fails", async () => {
    const browser = await create("database");
    expect((await browser.send("/lose")).status).toBe(403);
    expect(problems()).toEqual(["E_DATABASE"]);
  });

  test.each(["cookie", "database"])("because it holds too much (%s)", async (store) => {
    const browser = await create(store);
    expect((await browser.send("/overfill")).status).toBe(403);
    expect(problems()).toEqual(["E_SESSION"]);
  });
});

test("a form with mistakes is an error if the mistakes cannot be kept for its page", async () => {
  const browser = await create("database");
  const { status, headers, cookies } = await browser.post("/lost-form");
  expect([status, headers.get("location"), cookies]).toEqual([500, null, []]);
});

describe("a value that an error page puts into a session that was already saved", () => {
  test("is logged if it cannot be saved, and the page is still sent", async () => {
    const browser = await create("database");
    application.errorPage(403, async ({ session }) => {
      session.put("b", 1);
      return "forbidden";
    });
    await browser.send("/put/x");
    expect((await browser.send("/lose")).text).toBe("forbidden");
    await application.container.make("session").settled();
    expect(problems()).toEqual(["E_DATABASE", "E_DATABASE"]);
  });

  test.each(["cookie", "database"])("is logged if it is too large, and the page is still sent (%s)", async (store) => {
    const browser = await create(store);
    application.errorPage(403, ({ session }) => {
      session.put("a", TOO_MUCH);
      return "forbidden";
    });
    expect((await browser.send("/fail")).text).toBe("forbidden");
    expect(problems()).toEqual(["E_SESSION"]);
  });
});

test.each(["cookie", "database"])(
  "flashed values shown on an error page are used up without a log entry (%s)",
  async (store) => {
    const browser = await create(store);
    application.errorPage(403, ({ session }) => `<p>${session.get("a")}</p>`);
    await browser.send("/flash");
    expect([(await browser.send("/fail")).text, browser.cookies.size]).toEqual(["<p>1</p>", 0]);
    await application.container.make("session").settled();
    expect(problems()).toEqual([]);
  },
);

test("a form that cannot be shown again keeps its response, and the failure is logged", async () => {
  const browser = await create("cookie");
  expect((await browser.post("/broken")).status).toBe(429);
  expect(logged.map(({ msg }) => msg)).toContain("A form could not be shown again.");
});

test("a shutdown waits for background work, and a failure of it is logged", async () => {
  await create("cookie");
  const manager = application.container.make("session");
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  manager.track(first.promise);
  manager.track(second.promise);
  let isSettled = false;
  const settled = manager.settled().then(() => {
    isSettled = true;
  });
  first.reject(new AshlarError("E_SESSION"));
  await first.promise.catch(() => {});
  for (let turn = 0; turn < 5; turn += 1) await null;
  expect(isSettled).toBe(false);
  second.resolve();
  await settled;
  expect(problems()).toEqual(["E_SESSION"]);
  await manager.settled();
  const third = Promise.withResolvers<void>();
  manager.track(third.promise);
  isSettled = false;
  const settledAgain = manager.settled().then(() => {
    isSettled = true;
  });
  for (let turn = 0; turn < 5; turn += 1) await null;
  expect(isSettled).toBe(false);
  third.reject(new AshlarError("E_INTERNAL"));
  await settledAgain;
  expect(problems()).toEqual(["E_SESSION", "E_INTERNAL"]);
});

test("an application that shuts down waits for background work", async () => {
  await create("cookie");
  const work = Promise.withResolvers<void>();
  application.container.make("session").track(work.promise);
  const order: string[] = [];
  const ended = application.shutdown().then(() => void order.push("ended"));
  // By now, the shutdown has done everything for which it doesn't have to wait.
  for (let turn = 0; turn < 100; turn += 1) await null;
  order.push("worked");
  work.resolve();
  await ended;
  expect(order).toEqual(["worked", "ended"]);
});

test("S21 only a store on the server has sessions to prune, and returns how many", async () => {
  await create("cookie");
  expect(await application.prune()).toEqual({});
  const browser = await create("database");
  await browser.send("/put/a");
  expect(await application.prune()).toEqual({ "session data": 0 });
  const late = now() + 2 * 24 * 60 * 60_000;
  setClock(() => late);
  onTestFinished(() => setClock(null));
  expect(await application.prune()).toEqual({ "session data": 1 });
});

test("a form whose body cannot be parsed is shown again without the input", async () => {
  const browser = await create("cookie");
  await browser.open("/form");
  const headers = { "content-type": "application/json" };
  const answer = await browser.send("/form", { method: "POST", body: "{", headers });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/form"]);
  expect(JSON.parse((await browser.send("/form")).text)).toEqual(plain({ name: ["is taken"] }));
});

test("a form that cannot be parsed, and is not proved to come from the site, is shown again without the input", async () => {
  const browser = await create("cookie");
  const headers = { "content-type": "application/json", "sec-fetch-site": null };
  const answer = await browser.send("/often", { method: "POST", body: "{", headers });
  expect([answer.status, JSON.parse(answer.text)]).toEqual([429, plain({ "": ["Too many."] })]);
});

test("a form that is proved to come from the site only by its token is shown again with the input", async () => {
  const routes = [
    Route.get("/order", (context) => {
      const { session } = context;
      return { token: Csrf.token(context), typed: session.old("article"), errors: session.errors() };
    }),
    Route.post("/order", () => {
      throw new AshlarError("E_TOO_MANY_REQUESTS", "Too many.");
    }),
  ];
  const browser = new Browser(await sessionApplication({ routes, web: [SessionMiddleware] }));
  const { token } = JSON.parse((await browser.send("/order")).text);
  const sent = async (__token: string) => {
    const body = new URLSearchParams({ article: "a lamp", __token });
    const { status, text } = await browser.send("/order", {
      method: "POST",
      body,
      headers: { "sec-fetch-site": null },
    });
    return { ...JSON.parse(text), token: null, status };
  };
  const shown = { token: null, errors: plain({ "": ["Too many."] }), status: 429 };
  expect(await sent(token)).toEqual({ ...shown, typed: "a lamp" });
  expect(await sent(token.slice(1))).toEqual({ ...shown, typed: null });
});

test("a form without a session and with an unsupported content type is shown again without the input", async () => {
  const routes = [Route.get("/form", ({ session }) => session.errors()), Route.post("/form", () => "done")];
  const browser = new Browser(await sessionApplication({ routes }));
  const headers = { "content-type": "application/x-unknown", "content-length": "7" };
  const answer = await browser.send("/form", { method: "POST", body: "article", headers });
  expect([answer.status, Object.keys(JSON.parse(answer.text))]).toEqual([419, [""]]);
});

test("an error page does not treat a session that could not be read as empty", async () => {
  const browser = await create("database");
  const seen: unknown[] = [];
  application.errorPage(500, (context) => {
    try {
      return String(context.session.get("x"));
    } catch (error) {
      seen.push((error as AshlarError).code);
      return "failed";
    }
  });
  const rejections: unknown[] = [];
  const note = (error: unknown): void => void rejections.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  await browser.send("/put/x");
  await dropTable();
  const answer = await browser.send("/form");
  // Unhandled rejections are reported once the microtask queue is empty.
  await new Promise((resolve) => setImmediate(resolve));
  expect([answer.status, answer.text, answer.cookies, seen, rejections]).toEqual([
    500,
    "failed",
    [],
    ["E_DATABASE"],
    [],
  ]);
  // Even a handler that doesn't read the session isn't run.
  expect((await browser.send("/fail")).status).toBe(500);
});
