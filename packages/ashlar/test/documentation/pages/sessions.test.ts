import { expect, onTestFinished, test } from "vitest";
import { createTestClient, travel, travelBack } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, execute, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { followSection } from "../../support/page-sections.ts";

test("the page's cart works with forms, from a script, and for API clients", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/sessions.md");
  await followSection(root, "docs/guides/sessions.md", "Forged requests (CSRF)");
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  onTestFinished(end);
  onTestFinished(travelBack);

  const client = createTestClient(application);
  const page = await client.get("/cart");
  (await client.follow(await client.submit(page, { item: "A pen" }))).assertSee("A pen is in your cart.", "A pen");
  const refused = await client.submit(await client.get("/cart"), { item: " " });
  refused.assertStatus(303);
  (await client.follow(refused)).assertSee("Name an item.");

  const token = /data-token="([^"]+)"/.exec((await client.get("/cart")).text)![1]!;
  const headers = { "x-csrf-token": token };
  (await client.postJson("/cart", { item: "Ink" }, { headers })).assertJson({ count: 2 });
  expect((await client.postJson("/cart", { item: "" }, { headers })).status).toBe(422);
  (await client.postJson("/cart", { item: "Ink" })).assertStatus(419).assertJsonContains({ code: "E_CSRF" });
  const elsewhere = { ...headers, "sec-fetch-site": "cross-site" };
  (await client.postJson("/cart", { item: "Ink" }, { headers: elsewhere })).assertStatus(419);
  expect((await client.get("/cart")).pageText).toMatch(/A pen\s+Ink/);
  expect((await client.get("/cart.js")).text).toContain("x-csrf-token");

  // A page that was open for too long comes back filled in.
  const old = await client.get("/cart");
  client.cookies.delete("session");
  const expired = await client.submit(old, { item: "Paper" });
  expired.assertStatus(419);
  expect(expired.forms[0]!.value("item")).toBe("Paper");
  (await client.follow(await client.submit(expired, { item: "Paper" }))).assertSee("Paper is in your cart.");

  (await createTestClient(application).postJson("/hooks/payment", { id: "7" })).assertJson({ received: "7" });

  // In the database: the row is gone with the session, and unused ones end.
  const { kysely } = application.container.make("database");
  const rows = async () => (await kysely.selectFrom("session_data").select("id").execute()).length;
  expect(await rows()).toBe(2);
  await client.submit(await client.get("/cart"), "#empty");
  expect((await client.get("/cart")).pageText).not.toContain("Paper");
  await client.submit(await client.get("/cart"), { item: "Glue" });
  travel(61);
  expect((await client.get("/cart")).pageText).not.toContain("Glue");

  const { code, output } = await execute(root, process.execPath, ["--test", "tests/memory-sessions.test.ts"]);
  expect(code, output).toBe(0);
});
