import { join } from "node:path";
import { expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { checkTypes, edit, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

test("the page's application boots from its app.ts, with its own settings from the environment", async () => {
  const root = await generatedApplication({ api: false });
  await followPage(root, "docs/guides/applications.md");
  await checkTypes(root);
  await edit(root, "app.ts", [
    "kernel: Kernel",
    'kernel: Kernel, environment: { APP_ENV: "test", SHOP_FREE_SHIPPING_FROM: "80", SHOP_OPEN: "false" }',
  ]);
  const { default: application } = (await import(join(root, "app.ts"))) as { default: Application };
  try {
    expect(application.config.section("shop")).toEqual({
      SHOP: { currency: "EUR", freeShippingFrom: 80, open: false },
    });
    expect((await application.fetch(new Request("http://localhost/"))).status).toBe(200);
  } finally {
    await application.shutdown();
  }
});
