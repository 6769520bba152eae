import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Application, HttpKernel } from "../../src/public/index.ts";
import { createTestApplication, createTestClient, sessionStoreSuite } from "../../src/public/testing.ts";
import { generateApplication } from "../support/generated-application.ts";
import { MemorySessions } from "../support/memory-sessions.ts";
import { oneConnection } from "../support/one-connection-dialect.ts";

const PASSWORD = "a password of hers";
const DAY_MS = 86_400_000;

describe("an application's own session store passes the suite", () => {
  for (const { title, run } of sessionStoreSuite(() => new MemorySessions())) test(title, run);
});

describe("a generated application with its own session store and dialect", () => {
  let store: MemorySessions;
  let application: Application;
  let root: string;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    ({ root, remove } = await generateApplication());
  });
  beforeEach(async () => {
    const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: typeof HttpKernel };
    store = new MemorySessions();
    application = await createTestApplication({
      root,
      kernel: Kernel,
      database: oneConnection(":memory:"),
      config: { session: { SESSION: { store } } },
    });
  });
  afterEach(() => application.shutdown());
  afterAll(() => remove());

  test("uses its own dialect", () => {
    expect(application.container.make("database").dialect.name).toBe("one-connection");
  });

  test("a visitor registers, makes mistakes, finds the form filled in again, and logs out and in", async () => {
    const client = createTestClient(application);
    const person = { name: "Ada", email: "ada@example.com", password: PASSWORD };
    const refused = await client.submit(await client.get("/register"), { ...person, password_confirmation: "other" });
    refused.assertRedirect("/register");
    const again = await client.follow(refused);
    expect(again.text).toContain('value="ada@example.com"');
    expect(store.sessions.size).toBe(1);
    const [before] = store.sessions.keys();
    const registered = await client.submit(again, { ...person, password_confirmation: PASSWORD });
    expect(registered.status).toBe(302);
    // A login ends the previous session.
    expect(store.sessions.has(before!)).toBe(false);
    (await client.get("/home")).assertSee("Ada");
    await client.submit(await client.get("/home"), '[action="/logout"]');
    expect((await client.get("/home")).redirectsTo).toBe("/login");
    const wrong = await client.submit(await client.get("/login"), { email: person.email, password: "wrong password" });
    (await client.follow(wrong)).assertSee("Incorrect");
    await client.submit(await client.get("/login"), { email: person.email, password: PASSWORD });
    expect((await client.get("/home")).status).toBe(200);
  });

  test("the store does not contain the cookie's value, and every session in it can be pruned", async () => {
    const client = createTestClient(application);
    await client.get("/login");
    const cookie = client.cookies.get("session")!;
    expect([...store.sessions.keys()]).not.toContain(cookie);
    expect(JSON.stringify([...store.sessions])).not.toContain(cookie);
    const { size } = store.sessions;
    expect(size).toBeGreaterThan(0);
    const pruned = store.prune(Date.now() + DAY_MS, 0);
    expect([pruned, store.sessions.size]).toEqual([size, 0]);
    expect((await client.get("/login")).status).toBe(200);
  });

  test("the store is closed with the application", async () => {
    expect(store.isClosed).toBe(false);
    await application.shutdown();
    expect(store.isClosed).toBe(true);
  });
});
