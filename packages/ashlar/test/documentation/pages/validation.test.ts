import { expect, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/guides/validation.md";

test("the page's form shows its errors and the typed text, and API clients get the problem document", async () => {
  const root = await generatedApplication();
  await followPage(root, PAGE);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const visitor = createTestClient(application);
    const form = await visitor.get("/orders/create");
    const refused = await visitor.submit(form, { product: "", amount: "0" });
    refused.assertStatus(303).assertRedirect("/orders/create");
    const again = await visitor.follow(refused);
    again.assertSee("Choose a product.", "Too small: expected number to be >=1");
    expect(again.form().value("amount")).toBe("0");
    const done = await visitor.submit(again, { product: "Lamp", amount: "2" });
    (await visitor.follow(done)).assertSee("Ordered: 2 × Lamp");

    const program = createTestClient(application).withCsrfToken();
    const answer = await program.postJson("/orders", { product: "Lamp", amount: 0 });
    const document = (await markdownSamples(PAGE)).find(({ language }) => language === "json")!;
    answer
      .assertStatus(422)
      .assertHeader("content-type", "application/problem+json")
      .assertJson(JSON.parse(document.code));
  } finally {
    await end();
  }
});
