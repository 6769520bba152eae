import { expect, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/errors.md";

/** The page's own configuration logs each request. */
const SILENT = { level: "silent", requests: false };

test("the page's errors become its error pages and problem documents, and reveal nothing about failures", async () => {
  const root = await generatedApplication();
  await followPage(root, PAGE);
  await checkTypes(root);
  const { application, end } = await bootApplication(root, { config: { app: { APP: { log: SILENT } } } });
  try {
    const visitor = createTestClient(application);
    const conflict = await visitor.get("/closed");
    conflict.assertStatus(409).assertSee("That's not possible", "This order is closed.", "Status 409");
    const document = (await markdownSamples(PAGE)).find(({ language }) => language === "json")!;
    (await visitor.getJson("/closed"))
      .assertStatus(409)
      .assertHeader("content-type", "application/problem+json")
      .assertJson(JSON.parse(document.code));
    const unreachable = await visitor.getJson("/stock");
    unreachable.assertStatus(503).assertHeader("retry-after", "60").assertJsonPath("code", "E_STOCK_UNREACHABLE");
    expect(unreachable.text).not.toContain("10.0.0.7");
    (await visitor.get("/nowhere")).assertStatus(404).assertSee("Page not found");
  } finally {
    await end();
  }
});

test("a bug is a 500 that reveals nothing, except on the developer's own host", async () => {
  const root = await generatedApplication();
  await followPage(root, PAGE);
  const { application, end } = await bootApplication(root, {
    config: { app: { APP: { url: "http://shop.example", log: SILENT } } },
  });
  try {
    const broken = await createTestClient(application).get("http://other.example/broken");
    broken.assertStatus(500).assertSee("Something went wrong");
    expect(broken.text).not.toContain("a mistake in the code");
  } finally {
    await end();
  }
});
