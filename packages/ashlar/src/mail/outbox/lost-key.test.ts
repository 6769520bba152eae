import { expect, test } from "vitest";
import { abandoned, allSent, KEY, opened, shop } from "../../../test/support/outbox-shop.ts";
import { onEachDatabase, testWhere } from "../../../test/support/services.ts";
import { generateSecret } from "../../security/index.ts";
import { lostKey } from "./lost-key.ts";

await onEachDatabase("mails in the outbox that were sealed with a lost key", (engine) => {
  test("are logged once, however often they are tried, and are sent once the key is back", async () => {
    const own = await opened(engine);
    await abandoned(own, 3);
    const key = generateSecret();
    const logged: Record<string, unknown>[] = [];
    const { application, rows, store, transport, queue } = await shop(own, {
      key,
      logged,
      outbox: { pollSeconds: 0.1 },
    });
    await queue("with the new key");
    store.start();
    const attempts = async () => (await rows()).map((row) => (row.claim === null ? Number(row.attempts) : "under way"));
    for (let round = 1; round <= 3; round++) {
      await expect.poll(attempts, { timeout: 30_000 }).toEqual(Array(3).fill(round + 1));
      await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();
    }
    expect(logged).toEqual([
      {
        level: "error",
        mails: 3,
        message:
          "Mails in the outbox can't be opened: APP_KEY has been replaced, and APP_PREVIOUS_KEYS lacks the key that sealed " +
          "them. They are sent once it is there, and given up otherwise.",
      },
    ]);
    expect(await store.lost()).toBe(3);
    expect(transport.subjects).toEqual(["with the new key"]);
    await application.shutdown();
    await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();
    const mended = await shop(own, { key, previous: KEY });
    expect(await mended.store.lost()).toBe(0);
    mended.store.start();
    await allSent(mended.rows);
    expect(mended.transport.subjects.toSorted()).toEqual(["note 0", "note 1", "note 2"]);
  });

  testWhere(
    engine.name === "sqlite",
    "are counted among the oldest 2,000, whether they wait or were abandoned",
    async () => {
      const own = await opened(engine);
      await abandoned(own, 1);
      const { store, rows } = await shop(own);
      const row = { kind: "mail", content: "sealed", attempts: 1, created_at: 0, available_at: 0, retry_until: 0 };
      const lost = Array.from({ length: 600 }, (_, index) => ({ ...row, failed_at: index % 2 === 0 ? null : 1 }));
      const insert = async () => {
        for (let from = 0; from < lost.length; from += 100) {
          await own.database.kysely
            .insertInto("mail_outbox")
            .values(lost.slice(from, from + 100))
            .execute();
        }
      };
      await insert();
      expect(await store.lost()).toBe(600);
      for (let count = 0; count < 3; count++) await insert();
      expect(await rows()).toHaveLength(2401);
      expect(await store.lost()).toBe(1999);
    },
  );
});

test("the reason is worded for one mail, or for several", () => {
  const reason = "APP_KEY has been replaced, and APP_PREVIOUS_KEYS lacks the key that sealed";
  expect([1, 2].map(lostKey)).toEqual([`${reason} it`, `${reason} them`]);
});
