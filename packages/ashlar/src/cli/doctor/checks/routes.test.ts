import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import type { ApplicationOptions } from "../../../boot/index.ts";
import { SecurityHeadersMiddleware } from "../../../http/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../../kernel/index.ts";
import { Route } from "../../../routing/index.ts";
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from "../../../session/index.ts";
import type { Finding } from "../finding.ts";
import { PAGES } from "./pages.ts";
import { ROUTES } from "./routes.ts";

const WEB = [SecurityHeadersMiddleware, SessionMiddleware, VerifyCsrfToken];
const OPEN = WEB.filter((middleware) => middleware !== VerifyCsrfToken);

const done = (): string => "done";

/** The parts of an application that the checks read. */
async function subjectWith(
  routes: NonNullable<ApplicationOptions["routes"]>,
  stacks: RouteMiddleware,
  files: Readonly<Record<string, string>> = {},
) {
  class Kernel extends HttpKernel {
    override routeMiddleware = stacks;
    override registerRoutes(): void {
      this.container.bind("routes.api.location", "routes/api");
      this.container.bind("routes.api.prefix", "/api");
    }
  }
  const subject = await subjectOf({
    options: { kernel: Kernel, providers: [SessionProvider], routes },
    files: { ".env": "APP_ENV=test\n", "routes/api.ts": "export const ROUTES = [];\n", ...files },
  });
  expect(subject.boot.error).toBeNull();
  return subject;
}

/** The findings' ids and problems, one per line. */
const told = (findings: readonly Finding[]): string[] => findings.map(({ id, problem }) => `${id}: ${problem}`);

test("a route that changes something with a session on a separate stack needs CSRF protection", async () => {
  const routes = [
    Route.get("/read", done),
    Route.post("/post", done),
    Route.put("/put", done),
    Route.patch("/patch", done),
    Route.delete("/delete", done),
  ].map((route) => route.withoutMiddleware("web").middleware("own"));
  const open = await subjectWith(routes, { web: WEB, own: [SessionMiddleware] });
  const findings = await ROUTES.run(open);
  expect(findings.map(({ id, severity, problem }) => `${severity} ${id} ${problem.split(" runs")[0]}`)).toEqual([
    "error routes.csrf POST /post",
    "error routes.csrf PUT /put",
    "error routes.csrf PATCH /patch",
    "error routes.csrf DELETE /delete",
  ]);
  const closed = await subjectWith(routes, { web: WEB, own: [SessionMiddleware, VerifyCsrfToken] });
  expect(await ROUTES.run(closed)).toEqual([]);
});

test("routes that change something and are on no stack are listed, whatever their method", async () => {
  const routes = [
    Route.get("/read", done),
    Route.post("/post", done),
    Route.put("/put", done),
    Route.patch("/patch", done),
    Route.delete("/delete", done),
  ].map((route) => route.withoutMiddleware("web"));
  const findings = await ROUTES.run(await subjectWith(routes, { web: WEB }));
  expect(findings.map(({ id, problem }) => `${id} ${problem.split(" is on")[0]}`)).toEqual([
    "routes.stack POST /post",
    "routes.stack PUT /put",
    "routes.stack PATCH /patch",
    "routes.stack DELETE /delete",
  ]);
});

test("a stack web without VerifyCsrfToken is one finding, with all its routes", async () => {
  const routes = [Route.post("/orders", done), Route.delete("/orders/@id", done), Route.get("/orders", done)];
  const findings = await ROUTES.run(await subjectWith(routes, { web: OPEN }));
  expect(findings).toMatchObject([
    { id: "routes.csrf", severity: "error", file: "app/kernel.ts", remedy: { file: "app/kernel.ts" } },
  ]);
  expect(findings[0]!.problem).toContain("make a visitor's browser send: POST /orders, DELETE /orders/@id.");
  expect(findings[0]!.remedy.lines.at(-1)).toContain("VerifyCsrfToken]");
});

test("the account pages' finding about the stack web isn't repeated for its routes", async () => {
  const files = { "app/controllers/auth/index.ts": "" };
  const routes = [Route.post("/orders", done), Route.post("/mine", done).withoutMiddleware("web").middleware("own")];
  const subject = await subjectWith(routes, { web: OPEN, own: [SessionMiddleware] }, files);
  const stack = (await PAGES.run(subject)).filter(({ id }) => id === "pages.stack");
  expect(told(stack)).toEqual(["pages.stack: The stack web lacks LoadUserMiddleware and VerifyCsrfToken."]);
  const findings = await ROUTES.run(subject);
  expect(findings).toHaveLength(1);
  expect(findings[0]!.problem).toContain("POST /mine");
});

test("a route for pages under the API's prefix belongs among the API's routes", async () => {
  const routes = [Route.post("/api/orders", done), Route.get("/api/orders/@id", done), Route.post("/apiary", done)];
  const findings = await ROUTES.run(await subjectWith(routes, { web: WEB }));
  expect(findings.map(({ id, severity, remedy }) => `${severity} ${id}: ${remedy.note}`)).toEqual([
    "warning routes.api: Move the line from ROUTES of routes/web.ts to ROUTES of routes/api.ts, which puts /api before " +
      "its path: write /orders there. If only your own pages send it, choose another path.",
    "warning routes.api: Move the line from ROUTES of routes/web.ts to ROUTES of routes/api.ts, which puts /api before " +
      "its path: write /orders/@id there. If only your own pages send it, choose another path.",
  ]);
});

test("the text to remove is on the route's own line", async () => {
  const off = Route.post("/mine", done).withoutMiddleware("web").middleware("own");
  const grouped = Route.group({ withoutMiddleware: ["web"] }, [Route.post("/ours", done)]);
  const stacks = { web: WEB, own: [SessionMiddleware] };
  const findings = await ROUTES.run(await subjectWith([off, grouped], stacks));
  expect(findings.map(({ id, remedy }) => [id, remedy.remove, remedy.note?.split(". ")[0]])).toEqual([
    ["routes.csrf", '.withoutMiddleware("web")', "The route needs the whole stack web, with VerifyCsrfToken."],
    ["routes.stack", null, "Put the route back on the stack web"],
  ]);
});

test("a route of the API that runs with the visitor's session loses that session, or moves to the pages", async () => {
  const sent = Route.post("/sent", done).withoutMiddleware("web").middleware("api");
  const proposed = async (stacks: RouteMiddleware, route = sent) => {
    const [finding, ...others] = await ROUTES.run(await subjectWith([route], stacks));
    expect([finding?.id, others]).toEqual(["routes.csrf", []]);
    return finding!.remedy;
  };
  expect(await proposed({ web: WEB, api: [SessionMiddleware] })).toEqual({
    ...{ run: null, remove: null, note: null, file: "app/kernel.ts" },
    lines: ["// in routeMiddleware:", "api: [JWTAuthenticationMiddleware],"],
  });
  expect(await proposed({ web: WEB, api: [], own: [SessionMiddleware] }, sent.middleware("own"))).toEqual({
    ...{ run: null, remove: null, file: null, lines: [] },
    note: "Move the line from ROUTES of routes/api.ts to ROUTES of routes/web.ts.",
  });
});
