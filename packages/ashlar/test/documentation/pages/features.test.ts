import { expect, test } from "vitest";
import { captureEvents, createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { COMMAND, checkTypes, edit, execute, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

test("the page's feature adds a service, a message, an event, an error and a command", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/features.md");
  await edit(
    root,
    "config/providers.ts",
    [
      "import { ThrottleProvider",
      'import { CheckedStockProvider } from "../app/stock/checked-stock-provider.ts";\n' +
        'import { StockProvider } from "../app/stock/stock-provider.ts";\nimport { ThrottleProvider',
    ],
    ["  AuthProvider,\n", "  AuthProvider,\n  StockProvider,\n  CheckedStockProvider,\n"],
  );
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const client = createTestClient(application);
    using events = captureEvents(application);
    (await client.get("/lamps/take")).assertStatus(200).assertSee("0 left");
    expect(events.assertEmitted("stock.taken" as never)).toEqual({ sku: "lamp", left: 0 });
    (await client.getJson("/lamps/take")).assertStatus(409).assertJsonPath("code", "E_OUT_OF_STOCK");
  } finally {
    await end();
  }
  const { output } = await execute(root, process.execPath, [COMMAND, "stock:hello"], { APP_ENV: "test" });
  expect(output).toContain("The stock of Shop");
  await edit(root, "config/stock.ts", ["initial: 1", "inital: 1"]);
  await expect(bootApplication(root)).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
    message: expect.stringContaining("initial"),
  });
  await edit(root, "config/stock.ts", ["inital: 1", "initial: 0"]);
  const doctor = await execute(root, process.execPath, [COMMAND, "doctor", "--json"], { APP_ENV: "test" });
  expect(doctor.output).toContain("stock.empty");
});
