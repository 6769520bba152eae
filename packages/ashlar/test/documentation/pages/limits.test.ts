// The guide about limits: its files, its response, and the table of the defaults.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/public/index.ts";
import { createTestClient, freeze } from "../../../src/public/testing.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { checkTypes, edit, execute, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { codeOf, pageTables } from "../../support/page-tables.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/limits.md";

let root: string;
let application: Application;
/** An application with the limits as features declare them. */
let defaults: Application;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  for (const isGuide of [true, false]) {
    const made = await generateApplication();
    if (isGuide) await followPage(made.root, PAGE);
    // A new application shows one of the limits in its configuration.
    else await rm(join(made.root, "config/throttle.ts"));
    for (const feature of isGuide ? [] : ["--two-factor", "--passkeys", "--login-links"]) {
      expect((await ashlar(made.root, "auth", feature)).code).toBe(0);
    }
    const booted = await bootApplication(made.root);
    if (isGuide) [root, application] = [made.root, booted.application];
    else defaults = booted.application;
    ends.push(booted.end, made.remove);
  }
});
afterAll(async () => {
  for (const end of ends) await end();
});

function duration(seconds: number): string {
  return seconds % 3600 === 0 ? `${seconds / 3600} h` : `${seconds / 60} min`;
}

test("the table lists exactly the framework's limits, as they are declared", async () => {
  const { rows } = (await pageTables(PAGE)).find(({ columns }) => columns[1] === "Account")!;
  const names = (await pageTables("docs/reference/events.md")).find(({ columns }) => columns[0] === "Limit")!;
  expect(rows.map((row) => row.Limit).toSorted()).toEqual(names.rows.map((row) => row.Limit).toSorted());
  const throttle = defaults.container.make("throttle");
  for (const { Limit = "", Account = "", ...row } of rows) {
    const { account, buckets } = throttle.limit(codeOf(Limit)!);
    expect([Limit, codeOf(Account)]).toEqual([Limit, account]);
    const shown = buckets.map(
      ({ by, attempts, windowSeconds }) => `${attempts} per ${duration(windowSeconds)} by ${by.join(" and ")}`,
    );
    expect([Limit, Object.values(row)[0]]).toEqual([Limit, shown.join(" · ")]);
  }
});

test("each of the framework's limits is in the table about counting", async () => {
  const tables = (await pageTables(PAGE)).filter(({ columns }) => columns[0] === "Limit");
  const [all = [], counted = []] = tables.map(({ rows }) =>
    rows.flatMap(({ Limit = "" }) => [...Limit.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)),
  );
  expect(counted.toSorted()).toEqual(all.toSorted());
});

test("the page's files pass the type check, and the store passes its suite", async () => {
  await checkTypes(root);
  const { code, output } = await execute(root, process.execPath, ["--test", "tests/map-store.test.ts"]);
  expect(output).toContain("ℹ fail 0");
  expect(output).toContain("no two concurrent attempts see the same count");
  expect(code).toBe(0);
});

test("the eleventh export is refused with the page's response", async () => {
  using _ = freeze();
  const client = createTestClient(application);
  for (let count = 1; count <= 10; count++) (await client.get("/export")).assertStatus(200);
  const refused = await client.getJson("/export");
  const [{ code = "" } = {}] = (await markdownSamples(PAGE)).filter(({ language }) => language === "http");
  const [head = "", body = ""] = code.split("\n\n");
  const [, ...headers] = head.split("\n");
  expect(refused.json).toEqual(JSON.parse(body));
  expect(refused.status).toBe(429);
  for (const line of headers) {
    const [name = "", value = ""] = line.split(/: (.*)/, 2);
    expect([name, refused.headers.get(name)]).toEqual([name, value]);
  }
});

test("a browser gets a page with the same sentence", async () => {
  using _ = freeze();
  const client = createTestClient(application).withCsrfToken();
  const login = () => client.post("/login", { email: "eve@example.com", password: "a wrong password" });
  for (let count = 1; count <= 3; count++) await login();
  const refused = await login();
  refused
    .assertStatus(429)
    .assertHeader("Content-Type", /^text\/html/)
    .assertSee("Too many attempts. Try again in 5 minutes.");
});

test("an application with account pages does not start without ThrottleProvider", async () => {
  const made = await generateApplication({ api: false });
  try {
    await edit(made.root, "config/providers.ts", ["  ThrottleProvider,\n", ""]);
    await expect(bootApplication(made.root)).rejects.toThrow(/throttle/i);
  } finally {
    await made.remove();
  }
});

test("the input named by the limit is the account, and the user with ,user", async () => {
  const client = createTestClient(application).withCsrfToken();
  const guess = (code: string) => client.postJson("/coupons", { code });
  for (let count = 1; count <= 3; count++) (await guess("SUMMER")).assertStatus(200);
  (await guess("SUMMER")).assertStatus(429);
  (await guess("WINTER")).assertStatus(200);
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  await user.setPassword("a password of hers");
  await user.save();
  await client.actingAs(user);
  (await client.postJson("/reports", {})).assertStatus(429);
});

test("a limit in the configuration replaces the framework's", async () => {
  const throttle = application.container.make("throttle");
  expect(throttle.limit("login").buckets.map(({ attempts }) => attempts)).toEqual([3, 100]);
  expect(defaults.container.make("throttle").limit("login").buckets[0]!.attempts).toBe(5);
});
