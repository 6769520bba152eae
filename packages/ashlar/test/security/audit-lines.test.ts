import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { EventProvider } from "../../src/public/events.ts";
import { createApplication, createLogger, Route } from "../../src/public/index.ts";
import { AccountShop, EMAIL, PASSWORD } from "../support/account-shop.ts";
import { desk } from "../support/desk.ts";
import { everythingAboutAccounts, ONE_RENEWAL } from "../support/everything-about-accounts.ts";
import { edit } from "../support/generated-application.ts";
import { sqlite } from "../support/services.ts";

type Line = Readonly<Record<string, unknown>>;

/** A shop with these log settings, and the audit lines since the test began, before redaction. */
async function open(log: string) {
  const shop = await AccountShop.open(sqlite, {
    limits: ONE_RENEWAL,
    change: (root) => edit(root, "config/app.ts", ["} satisfies", `  log: ${log},\n} satisfies`]),
  });
  const write = vi.spyOn(shop.application.logger, "info");
  const lines = (): Line[] => {
    const calls: readonly (readonly unknown[])[] = write.mock.calls;
    return calls.flatMap(([data, message]) => (message === "audit" ? [data as Line] : []));
  };
  return { shop, lines, forget: () => write.mockClear() };
}

let usual: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  usual = await open("{ audit: true }");
});
afterAll(() => usual.shop.close());
beforeEach(async () => {
  await usual.shop.reset();
  usual.forget();
});

test("S81 each event about an account, a token or a limit is one line, in order, without a secret or an identifier", async () => {
  const { shop, lines } = usual;
  const { events, secrets } = await everythingAboutAccounts(shop);
  const told = events.map(({ name }) => name).filter((name) => !name.startsWith("mail."));
  expect(new Set(told).size).toBe(19);
  expect(lines().map(({ event }) => event)).toEqual(told);
  const text = JSON.stringify(lines());
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  expect(text).not.toContain("@example");
});

test("every event about an account, a token or a limit that the manual lists has a line", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/reference/events.md"), "utf8");
  const [, events] = /^## Events about users$(.*)^## Events of mails$/ms.exec(page)!;
  const listed = [...events!.matchAll(/^\| `((?:auth|api)\.\w+)` \|/gm)].map(([, name]) => name!);
  expect(listed.length).toBeGreaterThan(18);
  expect(Object.keys(usual.shop.application.stats().events!)).toEqual(expect.arrayContaining(listed));
});

test("the application counts its events and mails", async () => {
  const { shop } = usual;
  const before = shop.application.stats();
  const { events } = await everythingAboutAccounts(shop);
  const { events: counts, mail } = shop.application.stats();
  // Mails in the outbox aren't counted here, but in its table.
  const { outbox: _, ...mails } = mail!;
  const since = (name: string) => counts![name]! - before.events![name]!;
  for (const name of ["auth.login", "auth.failed", "auth.lockout", "auth.registered", "api.token_issued"]) {
    expect([name, since(name)]).toEqual([name, events.filter((one) => one.name === name).length]);
  }
  const sent = events.filter(({ name }) => name === "mail.sent").length;
  const { failed, failedAttempts } = before.mail!;
  expect([sent > 0, mails]).toEqual([true, { queued: 0, sent: before.mail!.sent + sent, failed, failedAttempts }]);
});

test("S81 a line contains the account, the guard, the address and the request", async () => {
  const { shop, lines } = usual;
  const id = String((await shop.user())!.id);
  const client = shop.visitor();
  expect(await shop.logsIn(client, EMAIL, PASSWORD)).toBe(true);
  await shop.visitor().postJson("/api/reauth", { token: "made.up.token" });
  await shop.application.container.make("events").settled();
  const common = { guard: "web", address: "203.0.113.7", requestId: expect.stringMatching(/^[\da-f-]{36}$/) };
  const [login, refusal, ...others] = lines().filter(({ event }) => event !== "auth.new_device");
  expect(others).toEqual([]);
  expect(login).toEqual({ ...common, event: "auth.login", userId: id, by: "password" });
  expect(refusal).toEqual({ ...common, event: "api.token_refused", guard: "jwt", reason: "malformed" });
});

test("S81 by default, typed text is not in the line of a failed login or a password request", async () => {
  const { shop, lines } = usual;
  await shop.logsIn(shop.visitor(), "my password by mistake", PASSWORD);
  await shop.logsIn(shop.visitor(), EMAIL, "wrong");
  await shop.send(shop.visitor(), "/change_password", { email: "nobody@example.com" });
  await shop.application.background.settled();
  await shop.application.container.make("events").settled();
  const id = String((await shop.user())!.id);
  expect(lines().map(({ event, userId, identifier }) => [event, userId, identifier])).toEqual([
    ["auth.failed", undefined, undefined],
    ["auth.failed", id, undefined],
    ["auth.password_reset_requested", undefined, undefined],
  ]);
  // Lines about work after the response belong to the request, too.
  expect(new Set(lines().map(({ requestId }) => requestId)).size).toBe(3);
  expect(lines().every(({ requestId }) => typeof requestId === "string")).toBe(true);
});

test("S81 identifiers are written and addresses cut if the configuration says so", async () => {
  const { shop, lines } = await open('{ audit: true, identifiers: true, addresses: "truncated" }');
  onTestFinished(() => shop.close());
  await shop.reset();
  await shop.logsIn(shop.visitor(), EMAIL, "wrong");
  await shop.send(shop.visitor(), "/change_password", { email: "nobody@example.com" });
  await shop.application.background.settled();
  await shop.application.container.make("events").settled();
  expect(lines().map(({ event, identifier, address }) => [event, identifier, address])).toEqual([
    ["auth.failed", EMAIL, "203.0.113.0"],
    ["auth.password_reset_requested", "nobody@example.com", "203.0.113.0"],
  ]);
});

test("S81 commands' search terms and cleared keys are written like identifiers and addresses", async () => {
  const cut = await open('{ audit: true, identifiers: true, addresses: "truncated" }');
  onTestFinished(() => cut.shop.close());
  for (const [{ shop, lines }, identifier, clientAddress] of [
    [usual, undefined, "203.0.113.7"],
    [cut, "ada@", "203.0.113.0"],
  ] as const) {
    await shop.reset();
    await desk(shop.application, "users:find", "ada@", "--by", "grace");
    await desk(
      shop.application,
      "limits:clear",
      EMAIL,
      "--address",
      "203.0.113.7",
      "--limit",
      "login",
      "--by",
      "grace",
    );
    const common = { event: "auth.command", by: "grace", guard: "web", userId: expect.any(String) };
    expect(lines().map(({ requestId: _, ...line }) => line)).toEqual([
      { ...common, guard: undefined, command: "users:find", found: 1, identifier },
      { ...common, command: "limits:clear", limit: "login", clientAddress, cleared: 0 },
    ]);
  }
});

test("audit lines can be turned off, and events are still counted", async () => {
  const { shop, lines } = await open("{ audit: false }");
  onTestFinished(() => shop.close());
  await shop.reset();
  const { counts } = shop.application.container.make("audit");
  const before = counts.get("auth.failed")!;
  await shop.logsIn(shop.visitor(), EMAIL, "wrong");
  await shop.application.container.make("events").settled();
  expect([lines(), counts.get("auth.failed")! - before]).toEqual([[], 1]);
});

declare module "../../src/events/event-map.ts" {
  interface EventMap {
    "test.refunded": { readonly order: { readonly id: number }; readonly card: string };
  }
}

test("an application's own event has a line with what its description returns, once, and the request's id", async () => {
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info" } } as const;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { log: { audit: true } } } },
    providers: [EventProvider],
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) }),
    routes: [
      Route.get("/", async ({ events, request }) => {
        await events.emit("test.refunded", { order: { id: 7 }, card: "4111" });
        return request.id;
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const audit = application.container.make("audit");
  for (let count = 0; count < 2; count++) audit.add("test.refunded", ({ order }) => ({ orderId: order.id }));
  const id = await (await application.fetch(new Request("http://localhost/"))).text();
  expect(lines.map(({ time: _, ...line }) => line)).toEqual([
    { level: "info", app: "Shop", event: "test.refunded", orderId: 7, requestId: id, msg: "audit" },
  ]);
});
