// The guide about mail, on a generated application.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/public/index.ts";
import { createTestClient } from "../../../src/public/testing.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, execute, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { REPOSITORY } from "../../support/samples.ts";

const PAGE = "docs/guides/mail.md";

let root: string;
let remove: () => Promise<void>;
let application: Application;
let end: () => Promise<void>;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  await followPage(root, PAGE);
  ({ application, end } = await bootApplication(root, { environment: { APP_ENV: "development" } }));
});
afterAll(async () => {
  await end();
  await remove();
});

test("the page's files pass the type check, and the page's own tests", async () => {
  await checkTypes(root);
  const tests = ["tests/postbox-transport.test.ts", "tests/order-shipped.test.ts"];
  const { code, output } = await execute(root, process.execPath, ["--test", ...tests]);
  expect(output).toContain("ℹ fail 0");
  expect(output).toContain("shipping an order tells the customer, in their language");
  expect(output).toContain("every recipient gets it, including copies and blind copies");
  expect(code).toBe(0);
});

test("the mail has a preview in development, in both forms", async () => {
  const client = createTestClient(application);
  (await client.get("/dev/mailbox/preview")).assertStatus(200).assertSee("OrderShippedMail");
  (await client.get("/dev/mailbox/preview/OrderShippedMail")).assertStatus(200).assertSee("Your order 7 is on its way");
});

test("the pauses between attempts match the page", async () => {
  const { readMailSettings } = await import("../../../src/mail/settings.ts");
  const { attempts, delaySeconds } = readMailSettings({}, { environment: "test", name: "Shop", url: null }).retry;
  const pauses = Array.from({ length: attempts - 1 }, (_, index) => Math.min(delaySeconds * 2 ** index, 60));
  const list = `${pauses.slice(0, -1).join(", ")} and ${pauses.at(-1)}`;
  const text = (await readFile(join(REPOSITORY, PAGE), "utf8")).replaceAll("\n", " ");
  expect(text).toContain(`is tried ${attempts} times in total, with pauses of ${list} seconds`);
});
