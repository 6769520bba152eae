import { expect, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

test("the page lists the orders, escaped, with its own component, and its form leaves a message", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/pages.md");
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const visitor = createTestClient(application);
    const page = await visitor.get("/orders");
    page.assertStatus(200).assertSee("Order 1", "Ring <twice>", "12.50 €", "3.00 €");
    expect(page.text).toContain("Ring &lt;twice&gt;");
    expect(page.text).toContain('href="/orders?order=1"');
    expect(page.text).toMatch(/href="\/style\.css\?v=[\da-f]{10}"/);
    page.assertHeader("content-security-policy", /default-src 'self'/);
    (await visitor.follow(await visitor.submit(page, '[action="/orders"]', { note: "A lamp" }))).assertSee(
      "Added: A lamp",
    );
    (await visitor.post("/orders", { note: "forged" })).assertStatus(419);
    const css = await visitor.get("/style.css");
    css.assertStatus(200).assertHeader("etag").assertHeader("content-type", /css/);
    (await visitor.get("/.env")).assertStatus(404);
  } finally {
    await end();
  }
});
