// Tries every door with an account in every state, in a generated application over HTTP, and compares the responses with the
// table in answers.json. The table is also a page of the manual, docs/reference/doors.md.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { declareFeature, Provider, type ProviderClass } from "../../src/boot/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { createTestApplication } from "../../src/testing/index.ts";
import { ashlar } from "../support/command-line.ts";
import { FRAMEWORK_FEATURES } from "../support/framework-features.ts";
import { RedisServer } from "../support/redis-server.ts";
import { mariadb, onMariadb, onPostgres, postgres, sqlite } from "../support/services.ts";
import { DoorAccount } from "./door-account.ts";
import { accessOf, described } from "./door-answer.ts";
import { type Deployment, DoorShop, generateDoorShop } from "./door-shop.ts";
import { STATES } from "./door-states.ts";
import { type DoorRegistry, gapsIn, registryOf, TABLE } from "./door-table.ts";
import { WALKS } from "./door-walks.ts";

let root: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ root, remove } = await generateDoorShop());
});
afterAll(() => remove?.());

describe("the table of doors", () => {
  test("S140 has a row for every door and step, a state for each authenticator, and every cell", async () => {
    const registry = await registryWith();
    expect(gapsIn(TABLE, registry)).toEqual([]);
    const declared = FRAMEWORK_FEATURES.flatMap(({ feature }) => Object.keys(feature.doors ?? {}));
    expect(registry.doors.toSorted()).toEqual(declared.toSorted());
    expect(Object.keys(WALKS)).toEqual(Object.keys(TABLE.rows));
    expect(Object.keys(STATES)).toEqual(Object.keys(TABLE.states));
  });

  test("a feature with a door, a step or an authenticator of which it knows nothing is found", async () => {
    class BadgeProvider extends Provider {
      static override readonly feature = declareFeature({
        name: "badges",
        doors: { badge: { about: "Someone with a badge.", opens: "login", routes: [] } },
        proofs: { badge_code: () => ({ amr: [], has: () => true, step: { check: () => "passed" as const } }) },
        authenticators: { badge_card: {} },
      });
    }
    expect(gapsIn(TABLE, await registryWith(BadgeProvider))).toEqual([
      'No row tries the door "badge".',
      'No row passes the step "badge_code".',
      'No state is about the authenticator "badge_card".',
    ]);
  });

  test("the doctor lists of the application's own routes exactly those that log users in", async () => {
    const { code, output } = await ashlar(root, "doctor", "--doors", "--json");
    const doors = JSON.parse(output) as readonly { readonly door: string; readonly route: string }[];
    expect(code).toBe(0);
    expect(doors.filter(({ door }) => door.endsWith("()")).map(({ door, route }) => [door, route])).toEqual([
      ["loginAs()", "POST /become/@id"],
      ["attemptById()", "POST /switch/@id"],
      ["enter()", "POST /enter/@id"],
    ]);
  });

  test("a state without a cell is found, and a row of a door that no longer exists", () => {
    const states = { ...TABLE.states, asleep: { meaning: "" } };
    const registry = { doors: [...new Set(Object.values(TABLE.rows).map(({ door }) => door))], steps: [], kinds: [] };
    const missing = Object.keys(TABLE.rows).map((row) => `The row "${row}" has no answer for the state "asleep".`);
    expect(gapsIn({ ...TABLE, states }, registry)).toEqual(missing);
    const doors = registry.doors.filter((door) => door !== "undo");
    expect(gapsIn(TABLE, { ...registry, doors })).toEqual([
      'The row "undo link" tries the door "undo", which no feature declares.',
    ]);
  });
});

/** What the features of the generated application declare, with other ones. */
async function registryWith(...more: readonly ProviderClass[]): Promise<DoorRegistry> {
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  const { PROVIDERS } = (await import(join(root, "config/providers.ts"))) as { PROVIDERS: readonly ProviderClass[] };
  const application = await createTestApplication({ root, kernel: Kernel, providers: [...PROVIDERS, ...more] });
  try {
    return registryOf(application);
  } finally {
    await application.shutdown();
  }
}

/** The answer of one cell. */
async function answerOf(shop: DoorShop, row: string, state: string): Promise<string> {
  const { create = (own: DoorShop) => DoorAccount.create(own), become } = STATES[state]!;
  const { isMailed, needsPasskey, prepare, watch } = WALKS[row]!;
  const account = await create(shop);
  if (needsPasskey) await account.addPasskey();
  const { browser, go } = await prepare(account);
  await become?.(account);
  // The mails of the first process can be read, so what is done with a link is done there, and prepared at the other.
  browser.process = isMailed === true ? shop.first : shop.second;
  const before = JSON.stringify(await watch?.(account));
  const response = await go();
  const changed = JSON.stringify(await watch?.(account)) === before ? "" : " + changed";
  return `${await accessOf(shop, browser, response)}${changed}: ${described(response)}`;
}

function defineMatrix(
  title: string,
  deployment: () => Promise<Deployment & { readonly end?: () => Promise<void> }>,
): void {
  describe(title, () => {
    let shop: DoorShop;
    let end: (() => Promise<void>) | undefined;
    beforeAll(async () => {
      const own = await deployment();
      end = own.end;
      shop = await DoorShop.deploy(root, own);
    });
    afterAll(async () => {
      await shop?.end();
      await end?.();
    });

    for (const [row, { door, answers }] of Object.entries(TABLE.rows)) {
      test(`S140 the door ${door}, by ${row}`, async () => {
        const found = Object.keys(answers).map(async (state) => [state, await answerOf(shop, row, state)]);
        expect(Object.fromEntries(await Promise.all(found))).toEqual(answers);
      });
    }
  });
}

defineMatrix("every door, on SQLite with cookies", async () => ({
  engine: sqlite,
  redis: null,
  hasTwoProcesses: false,
}));

await onPostgres("every door at another process", () => {
  defineMatrix("on PostgreSQL with cookies", async () => ({ engine: postgres, redis: null, hasTwoProcesses: true }));
});

await onMariadb("every door at another process", () => {
  defineMatrix("on MariaDB with sessions and limits in Redis", async () => {
    const server = await RedisServer.start();
    return { engine: mariadb, redis: server.url, hasTwoProcesses: true, end: () => server.remove() };
  });
});
