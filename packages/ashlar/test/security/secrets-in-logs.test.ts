import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { type Application, createApplication, createLogger, Route, type RouteEntry } from "../../src/public/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { exchange } from "../support/raw-socket.ts";
import { folderWith } from "../support/temporary-folder.ts";

/** With the length and alphabet of a mailed token. */
const TOKEN = "Zk3vB8s_Q1xLw0TyR5nHc7uJ2mEoA9dGfKiP6bVzX4t";
/** Split here, because an error page shows the source of this file. */
const CODE = ["98", "765"].join("");
const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";

const lines: Record<string, unknown>[] = [];
let application: Application;

/** An application that logs to `lines`. */
function logging(routes: readonly RouteEntry[], root?: string): Promise<Application> {
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  return createApplication({
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    environment: { APP_ENV: "development", APP_KEY: generateSecret() },
    ...(root === undefined ? {} : { root }),
    routes,
  });
}

beforeAll(async () => {
  application = await logging([
    Route.get("/", () => "start"),
    Route.get("/email/verify/@token", () => "page"),
    Route.get("/password/reset/@token", () => "page"),
    Route.get("/cards/@passcode", () => "page"),
    Route.get("/orders/@id", () => "page"),
    Route.get("/orders/@id/lines", () => "page"),
    Route.get("/passports/@passport", () => "page"),
    Route.get("/fails/@token", () => {
      throw new Error("broken");
    }),
  ]);
  application.mount("/mounted", () => new Response("other"));
});
beforeEach(() => void lines.splice(0));
afterAll(() => application.shutdown());

async function logged(path: string, init: RequestInit = {}, asked: Application = application): Promise<unknown> {
  await (await asked.fetch(new Request(`http://localhost${path}`, init))).text();
  expect(JSON.stringify(lines)).not.toContain(TOKEN);
  expect(JSON.stringify(lines)).not.toContain(JWT);
  return lines.at(-1)?.path;
}

test.each([
  [`/email/verify/${TOKEN}`, "/email/verify/@token"],
  [`/password/reset/${TOKEN}/`, "/password/reset/@token"],
  [`/email/verify/${TOKEN}/extra`, "/email/verify/…"],
  [`//email/verify/${TOKEN}`, "//…"],
  [`/EMAIL/VERIFY/${TOKEN}`, "/…"],
  [`/email/verif/${TOKEN}`, "/email/…"],
  [`/%65mail/verify/${TOKEN}`, "/…"],
  [`/nope/${JWT}`, "/nope/…"],
  [`/${TOKEN}`, "/…"],
  [`/orders/${TOKEN}`, "/orders/…"],
  [`/orders/${JWT}`, "/orders/…"],
  [`/mounted/${TOKEN}`, "/mounted/…"],
  [`/email/verify/${TOKEN}/%zz`, "/email/verify/…"],
  [`/cards/1234`, "/cards/@passcode"],
  [`/orders/7?token=${TOKEN}&x=1`, "/orders/7"],
  [`/nope?token=${TOKEN}`, "/nope"],
])("S60 %s is logged without its token", async (path, expected) => {
  expect(await logged(path)).toBe(expected);
});

test.each(["/@token/orders", "/?number:integer"])(
  "S60 no first segment of a path without a route is logged if a route has a parameter there: %s",
  async (pattern) => {
    const other = await logging([Route.get(pattern, () => "page"), Route.get("/orders/list", () => "page")]);
    onTestFinished(() => other.shutdown());
    expect([await logged("/letmein", {}, other), await logged("/letmein/none", {}, other)]).toEqual(["/…", "/…"]);
    expect([await logged("/orders", {}, other), await logged("/orders/none", {}, other)]).toEqual([
      "/orders",
      "/orders/…",
    ]);
  },
);

test("a served file is logged by its path, and a missing one like any other path", async () => {
  const root = folderWith({ "public/assets/logo-2.min.svg": "<svg/>" });
  const other = await logging([], root);
  onTestFinished(() => other.shutdown());
  expect(await logged("/assets/logo-2.min.svg", {}, other)).toBe("/assets/logo-2.min.svg");
  expect(await logged("/assets/logo-3.min.svg", {}, other)).toBe("/assets/…");
});

test("OPTIONS * is logged unchanged, and a path of an asterisk as a path", async () => {
  const options = { port: 0, hostname: "127.0.0.1", handleSignals: false, isAnnounced: true };
  const { port } = await application.listen(options);
  for (const line of ["OPTIONS *", "OPTIONS /*", "GET /*"]) await exchange(port, line, "Host: a");
  expect(lines.map(({ method, path }) => `${method} ${path}`)).toEqual(["OPTIONS *", "OPTIONS /…", "GET /…"]);
});

test.each([
  ["POST", `/email/verify/${TOKEN}`, "/email/verify/@token"],
  ["DELETE", `/password/reset/${TOKEN}/`, "/password/reset/@token"],
  ["OPTIONS", `/password/reset/${TOKEN}`, "/password/reset/@token"],
  ["POST", `/fails/${TOKEN}`, "/fails/@token"],
])("S60 %s at %s, another method's path, is logged as that method's route", async (method, path, expected) => {
  expect(await logged(path, { method })).toBe(expected);
});

test.each([
  ["/", "/"],
  ["/orders/7", "/orders/7"],
  ["/orders/0198d3a4-7e51-7cc0-9a39-0f5a4b3c2d1e/lines", "/orders/0198d3a4-7e51-7cc0-9a39-0f5a4b3c2d1e/lines"],
  ["/orders/how-we-built-the-thing-in-2026", "/orders/how-we-built-the-thing-in-2026"],
  ["/passports/7", "/passports/7"],
  ["/nowhere", "/nowhere"],
  ["/wp-login.php", "/wp-login.php"],
  ["/orders", "/orders"],
  ["/mounted", "/mounted"],
  ["/nowhere/", "/nowhere/"],
  ["/orders/", "/orders/"],
])("paths without a secret are logged unchanged: %s", async (path, expected) => {
  expect(await logged(path)).toBe(expected);
});

test("S60 an error is logged, and shown to developers, without the token in its path, its query and its Referer", async () => {
  const headers = {
    accept: "text/html",
    referer: `http://localhost/email/verify/${TOKEN}?passcode=${CODE}&page=2`,
    "x-passcode": CODE,
    "x-api-key": CODE,
  };
  const response = await application.fetch(new Request(`http://localhost/fails/${TOKEN}?otp=${CODE}`, { headers }));
  const page = await response.text();
  expect([response.status, page.includes("broken")]).toEqual([500, true]);
  for (const text of [page, JSON.stringify(lines)]) {
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(CODE);
  }
  expect(lines.map(({ path }) => path)).toEqual(["/fails/@token", "/fails/@token"]);
});

test.each(["", "/", "?page=2", "#top"])("S60 a Referer with a token before %j is shown without it", async (end) => {
  const headers = { accept: "text/html", referer: `http://localhost/email/verify/${TOKEN}${end}` };
  const response = await application.fetch(new Request(`http://localhost/fails/${TOKEN}`, { headers }));
  const page = await response.text();
  expect(page).toContain(`http://localhost/email/verify/…${end}`);
  expect(page).not.toContain(TOKEN);
});

test("S60 a URL that an application logs is logged without the secrets in its query", () => {
  const url = `https://shop.example/reset?email=a%40b.c&reset_token=${TOKEN}&user%5Bpassword%5D=hunter2&page=2`;
  application.logger.info({ url, list: [{ jwt: JWT, text: `it was ${JWT}, he said` }] }, "sent");
  expect(lines.at(-1)).toMatchObject({
    url: "https://shop.example/reset?email=a%40b.c&reset_token=[redacted]&user%5Bpassword%5D=[redacted]&page=2",
    list: [{ jwt: "[redacted]", text: "it was [redacted], he said" }],
  });
});
