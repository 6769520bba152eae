import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { kernelWith } from "../../test/support/application-parts.ts";
import { guardProvider, HeaderGuard } from "../../test/support/people.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { createApplication, createLogger } from "../boot/index.ts";
import type { HttpContext, Next } from "../http/index.ts";
import { Route } from "../routing/index.ts";
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from "../session/index.ts";
import { ThrottleProvider } from "../throttle/index.ts";
import { ViewProvider } from "../views/index.ts";
import { AuthProvider } from "./auth-provider.ts";
import { AuthenticationMiddleware } from "./requests/authentication-middleware.ts";

test("an application that lists the provider but has no guard works, prunes no accounts, and shuts down", async () => {
  const root = await temporaryFolder();
  mkdirSync(join(root, "views"));
  const form =
    '<form>{{ Object.values(errors).flat().map(({ message }) => message).join() }}</form>{{ auth ? "users" : "no users" }}';
  writeFileSync(join(root, "views/form.edge"), form);
  const logged: string[] = [];
  const application = await createApplication({
    root,
    kernel: kernelWith({ web: [SessionMiddleware, VerifyCsrfToken] }),
    routes: [Route.view("/form", "form"), Route.post("/form", () => "done")],
    providers: [ViewProvider, SessionProvider, ThrottleProvider, AuthProvider],
    environment: { APP_ENV: "test", APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
    logger: createLogger({ name: "test", environment: "test", log: { level: "warn", requests: false } } as never, {
      write: (line) => void logged.push(line),
    }),
  });
  onTestFinished(() => application.shutdown());
  const send = async (init: RequestInit) => {
    const headers = { accept: "text/html", "sec-fetch-site": "same-origin" };
    const response = await application.fetch(new Request("http://localhost/form", { headers, ...init }));
    return [response.status, await response.text()];
  };
  expect(await send({})).toEqual([200, "<form></form>no users"]);
  const expired = await send({ method: "POST", body: new URLSearchParams({ name: "Ada" }) });
  expect(expired).toEqual([419, expect.stringContaining("<form>The page had expired")]);
  expect(await application.prune()).toEqual({ "counts of limits": 0 });
  await application.shutdown();
  expect(logged).toEqual([]);
});

test("in an application without guards, its own middleware can have the names of those that require one", async () => {
  const own = (_: HttpContext, next: Next) => next();
  const application = await createApplication({
    kernel: kernelWith({ web: [], auth: [own], verified: [own] }),
    routes: [Route.get("/", () => "hello").middleware("auth:basic", "verified")],
    providers: [AuthProvider],
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  expect(await (await application.fetch(new Request("http://localhost/"))).text()).toBe("hello");
});

test("templates know the pages of the active guard, even in an application with only one guard", async () => {
  const root = await temporaryFolder();
  mkdirSync(join(root, "views"));
  writeFileSync(join(root, "views/home.edge"), '<a href="{{ auth.route("login") }}">{{ auth.guardName }}</a>');
  const application = await createApplication({
    root,
    kernel: kernelWith({ web: [] }),
    routes: [Route.view("/", "home"), Route.get("/sign-in", () => "").name("login")],
    providers: [ViewProvider, AuthProvider, guardProvider({ badge: HeaderGuard }, ["badge"])],
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  const page = await application.fetch(new Request("http://localhost/"));
  expect((await page.text()).trim()).toBe('<a href="/sign-in">badge</a>');
});

test("guests are sent to the login from paths without a route, too, if the middleware is around every request", async () => {
  const application = await createApplication({
    kernel: kernelWith({ web: [] }, [AuthenticationMiddleware]),
    routes: [Route.get("/login", () => "log in").name("login")],
    providers: [AuthProvider, guardProvider({ badge: HeaderGuard }, ["badge"])],
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  const headers = { accept: "text/html" };
  const response = await application.fetch(new Request("http://localhost/nowhere", { headers }));
  expect([response.status, response.headers.get("location")]).toEqual([302, "/login"]);
});
