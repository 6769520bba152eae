// Rules for paths in front of an application, and spellings of a path that they don't recognize.
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Application, createApplication, Route } from "../../src/public/index.ts";
import { GUARDING_FRAMEWORKS, type GuardingProxy, guardingProxy } from "../support/path-guards.ts";
import { withProgram } from "../support/system-programs.ts";

const SECRET = "the administration";

/** Targets that some parser reads as `/admin`. */
const SPELLINGS = [
  ...["/x/../admin", "/x\\..\\admin", "/x/..\\admin", "\\admin", "/\\admin", "/.\\admin", "/x/.\\../admin"],
  ...["/./admin", "/x/./../admin", "/../admin", "/../../admin", "/x/..//admin", "//admin", "///admin", "/x//../admin"],
  ...["/%2e/admin", "/%2e%2e/admin", "/x/%2e%2E/admin", "/x/.%2e/admin", "/x/%2E./admin", "/x/%252e%252e/admin"],
  ...[
    "/x%2f..%2fadmin",
    "/x/..%2fadmin",
    "/x%5c..%5cadmin",
    "/%5cadmin",
    "/%2fadmin",
    "/x%2F..%2Fadmin",
    "/..%2fadmin",
  ],
  ...["/x/..;/admin", "/x/..;v=1/admin", "/;/admin", "/.;/admin", "/%61dmin", "/%61%64%6d%69%6e", "/adm%69n"],
  ...["/ADMIN", "/Admin", "/%41dmin", "/x/../admin#", "/#/../admin", "/x#/../admin", "/x?/../../admin"],
  ...["/x/../admin?a=b", "/x\\..\\admin?a=b", "http://shop.example/x/../admin", "http://shop.example/x\\..\\admin"],
  ...["http://shop.example/./admin", "/x/%c0%ae%c0%ae/admin", "/x/%u002e%u002e/admin", "/%ef%bc%8e%ef%bc%8e/admin"],
  ...["/x/.../admin", "/x/..%00/admin", "/admin%00", "/x/..%0d%0a/admin", "/x/%09../admin", "/x/..%20/admin"],
];

async function shop(): Promise<Application> {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/admin", () => SECRET),
      Route.get("/open", () => "open"),
      Route.get("/x/@id", ({ request }) => `${request.param("id")}`),
    ],
  });
  onTestFinished(() => application.shutdown());
  return application;
}

/** Sends a request with a target that no client library would send, and returns the response. */
async function answerTo(port: number, target: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  socket.on("data", (data) => (received += data.toString("latin1")));
  socket.on("close", () => resolve(received)).on("error", () => {});
  socket.write(`GET ${target} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`);
  return await promise;
}

const statusOf = (answer: string): number => Number(answer.split(" ")[1]);

/** A guard for `/admin` denies it in every spelling, and lets other paths through. */
async function expectNoWayPast(port: number): Promise<void> {
  await expect.poll(() => answerTo(port, "/open").then(statusOf)).toBe(200);
  expect(statusOf(await answerTo(port, "/admin"))).toBe(403);
  const reached: string[] = [];
  for (const spelling of SPELLINGS) {
    if ((await answerTo(port, spelling)).includes(SECRET)) reached.push(spelling);
  }
  expect(reached).toEqual([]);
}

describe("a rule that denies /admin", () => {
  test.each(Object.entries(GUARDING_FRAMEWORKS))("S131 of %s denies it in every spelling", async (_name, start) => {
    await expectNoWayPast(await start(await shop()));
  });

  for (const name of ["nginx", "haproxy", "caddy"] satisfies GuardingProxy[]) {
    withProgram(name, () => {
      test(`S131 of ${name} denies it in every spelling, before the application's own server and its handler`, async () => {
        const application = await shop();
        const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
        await expectNoWayPast(await guardingProxy(name, port));
      });
    });
  }
});

test("S131 only the plain spelling leads to a route, and no part of another does: case, slashes, letters", async () => {
  const application = await shop();
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  expect(await answerTo(port, "/admin")).toContain(SECRET);
  // A rule for a single path has to name this one as well.
  expect(await answerTo(port, "/admin/")).toContain(SECRET);
  const statuses = await Promise.all(SPELLINGS.map(async (one) => [one, statusOf(await answerTo(port, one))] as const));
  expect(statuses.filter(([, status]) => status !== 400 && status !== 404)).toEqual([]);
});
