import { expect, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/languages.md";

test("the page's messages are in the visitor's language, and API clients get their keys", async () => {
  const root = await generatedApplication();
  await followPage(root, PAGE);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const english = createTestClient(application).withCsrfToken();
    const german = createTestClient(application).withLanguage("de-AT, en;q=0.5").withCsrfToken();
    (await english.get("/orders")).assertJson({ title: "Your orders", count: "1,200 orders" });
    (await german.get("/orders"))
      .assertHeader("content-language", "de")
      .assertJson({ title: "Ihre Bestellungen", count: "1.200 Bestellungen" });
    const document = (await markdownSamples(PAGE)).find(({ language }) => language === "json")!;
    const refused = await english.postJson("/orders", { note: "x".repeat(81) });
    refused.assertStatus(422).assertJson(JSON.parse(document.code));
    const note = "Verwenden Sie höchstens 80 Zeichen.";
    (await german.postJson("/orders", { note: "x".repeat(81) })).assertJsonPath("errors.note.0.message", note);
    const form = await english.get("/register");
    const failed = await english.submit(form, { name: "Ada", email: "ada", password: "a password of hers" });
    (await english.follow(failed)).assertSee("Write an address such as ada@example.com.");
    expect(application.messages.languages).toEqual(["en", "de"]);
  } finally {
    await end();
  }
});
