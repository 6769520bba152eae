// The guide about events, on a generated application.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../../src/database/index.ts";
import type { Application } from "../../../src/public/index.ts";
import { captureEvents, createTestClient } from "../../../src/public/testing.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

const PAGE = "docs/guides/events.md";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

let root: string;
let remove: () => Promise<void>;
let application: Application;
let end: () => Promise<void>;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  await followPage(root, PAGE);
  ({ application, end } = await bootApplication(root));
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
});
afterAll(async () => {
  await end();
  await remove();
});

interface Entry {
  readonly event: string;
  readonly user_id: string | null;
}

test("the page's files pass the type check", () => checkTypes(root));

test("the audit log has logins, failures, logouts and refused tokens, in order", async () => {
  const client = createTestClient(application).withCsrfToken();
  const visits: (() => Promise<unknown>)[] = [
    () => client.post("/login", { email: EMAIL, password: "not her password" }),
    () => client.post("/login", { email: EMAIL, password: PASSWORD }),
    () => client.post("/logout"),
    () => createTestClient(application).withToken("made-up").get("/api/me"),
  ];
  for (const visit of visits) {
    await visit();
    await application.container.make("events").settled();
  }
  const { AuditEntry } = (await import(join(root, "app/models/audit-entry.ts"))) as {
    AuditEntry: { all(): Promise<Entry[]> };
  };
  const entries = await AuditEntry.all();
  expect(entries.map(({ event, user_id }) => [event, user_id])).toEqual([
    ["auth.failed", "1"],
    ["auth.login", "1"],
    ["auth.logout", "1"],
    ["api.token_refused", null],
  ]);
});

test("the audit log's queries, and its pruning, use an index", async () => {
  const { kysely } = application.container.make("database");
  const entries = kysely.selectFrom("audit_entries").selectAll().orderBy("happened_at", "desc").limit(50);
  const questions = [
    [entries.where("user_id", "=", "1"), "audit_entries_user_id_happened_at"],
    [entries.where("address", "=", "203.0.113.7"), "audit_entries_address_happened_at"],
    [entries.where("happened_at", ">", new Date()), "audit_entries_happened_at"],
    [
      kysely.selectFrom("audit_entries").select("id").where("happened_at", "<", new Date()).limit(500),
      "audit_entries_happened_at",
    ],
  ] as const;
  for (const [question, index] of questions) {
    const steps = await question.explain(undefined, sql`query plan`);
    const plan = steps.map(({ detail }) => String(detail)).join("\n");
    expect(plan).toMatch(new RegExp(`^SEARCH audit_entries USING (COVERING )?INDEX ${index} \\(`));
    expect(plan).not.toContain("TEMP B-TREE");
  }
});

test("audit-log entries are deleted after 90 days", async () => {
  const { kysely } = application.container.make("database");
  const before = (days: number) => new Date(Date.now() - days * 86_400_000);
  const entry = (days: number) => ({ event: "auth.login", user_id: "old", address: null, happened_at: before(days) });
  await kysely
    .insertInto("audit_entries")
    .values(Array.from({ length: 501 }, () => entry(91)))
    .execute();
  await kysely.insertInto("audit_entries").values(entry(89)).execute();
  expect(await application.prune()).toMatchObject({ "audit entries": 501 });
  const kept = await kysely.selectFrom("audit_entries").select("id").where("user_id", "=", "old").execute();
  expect(kept).toHaveLength(1);
});

test("a handler's event reaches listeners before its response, and a failing listener affects nothing else", async () => {
  const events = application.container.make("events");
  const called: unknown[] = [];
  const remove = [
    events.on("order.placed" as never, () => {
      throw new Error("no");
    }),
    events.on("order.placed" as never, (payload: unknown) => called.push(payload)),
  ];
  using capture = captureEvents(application);
  const client = createTestClient(application).withCsrfToken();
  const User = await userClass(root);
  await client.actingAs((await User.find(1))!);
  (await client.postJson("/orders", {})).assertStatus(200);
  expect(called).toEqual([{ orderId: 7, userId: 1 }]);
  capture.assertEmitted("order.placed" as never);
  for (const off of remove) off();
});
