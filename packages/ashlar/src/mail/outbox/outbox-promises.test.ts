import { expect, test } from "vitest";
import { allSent, opened, shop } from "../../../test/support/outbox-shop.ts";
import { onEachDatabase, sqlite } from "../../../test/support/services.ts";
import { AshlarError } from "../../support/index.ts";
import { PromiseBroken } from "./outbox.ts";

await onEachDatabase("promised work", (engine) => {
  test("a promise whose claim was taken over is not kept by the first process", async () => {
    const own = await opened(engine);
    const one = await shop(own);
    const kept: string[] = [];
    const database = one.application.container.make("database");
    // The work only begins after the commit.
    await database.transaction(async () => {
      await one.mail.promise("greeting", "a greeting", {}, async () => void kept.push("one"));
      await database.kysely.updateTable("mail_outbox").set({ claim: "another process" }).execute();
    });
    await one.application.background.settled();
    expect(kept).toEqual([]);
    expect(await one.rows()).toHaveLength(1);
  });

  test("promised work is done once, if necessary by another process, and its mails are part of it", async () => {
    const own = await opened(engine);
    const dead = await shop(own);
    const failing = () => Promise.reject(new Error("It was killed."));
    await dead.mail.promise("greeting", "a greeting", { name: "Ada" }, failing);
    await dead.application.background.settled();
    await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();

    const stranger = await shop(own);
    stranger.store.start();
    await stranger.mail.settled();
    expect(await stranger.rows()).toMatchObject([{ kind: "greeting", failed_at: null }]);
    await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();

    const [one, two] = [await shop(own), await shop(own)];
    const kept: unknown[] = [];
    for (const { mail, queue } of [one, two]) {
      mail.keepPromises("greeting", async (data) => {
        kept.push(data);
        await queue("Hello");
      });
    }
    for (const { store } of [one, two]) store.start();
    await allSent(one.rows);
    expect(kept).toEqual([{ name: "Ada" }]);
    expect([...one.transport.subjects, ...two.transport.subjects]).toEqual(["Hello"]);
  });

  test("promised work that conflicts with another transaction is repeated at once", async () => {
    const { mail, application, rows } = await shop(await opened(engine));
    let attempts = 0;
    await mail.promise("greeting", "a greeting", {}, async () => {
      if (++attempts === 1) throw new AshlarError("E_DATABASE_CONFLICT");
    });
    await application.background.settled();
    expect([attempts, await rows()]).toEqual([2, []]);
  });
});

test("promised work that fails withdraws its mails, and is tried again", async () => {
  const logged: Record<string, unknown>[] = [];
  const own = await opened(sqlite);
  const { mail, queue, rows, store, transport, application } = await shop(own, { logged });
  let attempts = 0;
  const greet = async () => {
    await queue("Hello");
    if (++attempts === 1) throw new Error("ada@example.com is unknown");
  };
  mail.keepPromises("greeting", greet);
  await mail.promise("greeting", "a greeting", { name: "Ada" }, greet);
  await application.background.settled();
  await mail.settled();
  expect([transport.tried, logged]).toMatchObject([
    [],
    [{ level: "error", job: "a greeting", message: "A background job failed." }],
  ]);
  // An error's own text may identify a person.
  expect(await rows()).toMatchObject([{ kind: "greeting", claim: null, reason: "An error that is in the log." }]);
  await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();
  store.start();
  await allSent(rows);
  expect([attempts, transport.subjects]).toEqual([2, ["Hello"]]);
});

test("promised work that fails is looked up when its pause is over", async () => {
  const { mail, rows, application } = await shop(await opened(sqlite), { retry: { delaySeconds: 0.05 } });
  let attempts = 0;
  const greet = async () => {
    if (++attempts < 3) throw new AshlarError("E_DATABASE");
  };
  mail.keepPromises("greeting", greet);
  await mail.promise("greeting", "a greeting", {}, greet);
  await application.background.settled();
  await allSent(rows);
  expect(attempts).toBe(3);
});

test("promised work begins after the commit, and not at all after a rollback", async () => {
  const { database, mail, rows, store, application } = await shop(await opened(sqlite));
  const kept: string[] = [];
  const promised = (name: string) => mail.promise("greeting", "a greeting", {}, async () => void kept.push(name));
  const attempt = database.transaction(async () => {
    await promised("rolled back");
    throw new Error("no");
  });
  await expect(attempt).rejects.toThrow("no");
  await application.background.settled();
  expect([kept, await rows(), store.pending]).toEqual([[], [], 0]);
  await database.transaction(async () => {
    await promised("committed");
    expect(store.pending).toBe(0);
    await application.background.settled();
    expect(kept).toEqual([]);
  });
  await application.background.settled();
  expect([kept, await rows()]).toEqual([["committed"], []]);
});

test("promised work that has become impossible is forgotten, and logged", async () => {
  const logged: Record<string, unknown>[] = [];
  const { mail, rows, application } = await shop(await opened(sqlite), { logged });
  await mail.promise("greeting", "a greeting", {}, () => Promise.reject(new PromiseBroken("The user is gone.")));
  await application.background.settled();
  expect(await rows()).toEqual([]);
  expect(logged).toMatchObject([{ level: "error", job: "a greeting", message: "A background job failed." }]);
});

test("promised work that fails for too long is abandoned, with its error code", async () => {
  const logged: Record<string, unknown>[] = [];
  const { mail, rows, store, application } = await shop(await opened(sqlite), {
    logged,
    outbox: { retryHours: 0.0001 },
  });
  await mail.promise("greeting", "a greeting", {}, () => Promise.reject(new AshlarError("E_DATABASE")));
  await application.background.settled();
  expect(await rows()).toMatchObject([{ reason: "E_DATABASE", failed_at: expect.any(Number) }]);
  expect(logged.slice(1)).toEqual([
    { level: "error", message: "A mail in the outbox was abandoned.", outbox: "1", reason: "E_DATABASE", attempts: 1 },
  ]);
  expect(await store.failed(10)).toMatchObject([{ kind: "greeting", mailable: null, message: null }]);
});

test("promised work that this application doesn't know, or can't open, waits for another application", async () => {
  const own = await opened(sqlite);
  const dead = await shop(own);
  await dead.mail.promise("greeting", "a greeting", {}, () => Promise.reject(new Error("It was killed.")));
  await dead.application.background.settled();
  const later = () => own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();
  const kept: string[] = [];
  const reasons: unknown[] = [];
  for (const options of [{}, { key: "another-key-that-is-long-enough-for-it-4Xq9" }]) {
    await later();
    const { mail, rows, store } = await shop(own, options);
    if ("key" in options) mail.keepPromises("greeting", async () => void kept.push("with another key"));
    store.start();
    await mail.settled();
    const [row] = await rows();
    expect(row).toMatchObject({ claim: null, failed_at: null });
    reasons.push(row!.reason);
  }
  expect(reasons).toEqual([
    'This application does not know the work "greeting".',
    expect.stringMatching(/^It cannot be opened: APP_KEY has been replaced/),
  ]);
  await later();
  const last = await shop(own);
  last.mail.keepPromises("greeting", async () => void kept.push("at last"));
  last.store.start();
  await allSent(last.rows);
  expect(kept).toEqual(["at last"]);
});
