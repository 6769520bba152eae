import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createLogger } from "../../src/boot/index.ts";
import { isSecretName } from "../../src/support/index.ts";
import { AccountShop } from "../support/account-shop.ts";
import { everythingAboutAccounts, ONE_RENEWAL } from "../support/everything-about-accounts.ts";
import { sqlite } from "../support/services.ts";

let shop: AccountShop;
beforeAll(async () => {
  shop = await AccountShop.open(sqlite, { limits: ONE_RENEWAL });
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());

test("S60 no event has a field named like a secret, and none is logged with one", async () => {
  const { events, secrets } = await everythingAboutAccounts(shop);
  const { container } = shop.application;
  await container.make("accounts").history.flush();
  const listed = await container.make("database").kysely.selectFrom("security_events").selectAll().execute();
  expect(new Set(listed.map(({ event }) => event)).size).toBeGreaterThan(10);
  expect(secrets.filter((secret) => JSON.stringify(listed).includes(secret))).toEqual([]);
  expect(JSON.stringify(listed)).not.toContain("@example");

  // All of the framework's events, except those about a login that waits for a step, and a mail that couldn't be sent.
  expect([new Set(events.map(({ name }) => name)).size, secrets.length > 20]).toEqual([20, true]);
  const lines: string[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(line) });
  for (const { name, payload } of events) {
    if (payload === undefined) throw new Error(`${name} has no payload.`);
    expect(Object.keys(payload).filter(isSecretName), name).toEqual([]);
    logger.info(payload, name);
  }
  expect(secrets.filter((secret) => lines.join("").includes(secret))).toEqual([]);
});
