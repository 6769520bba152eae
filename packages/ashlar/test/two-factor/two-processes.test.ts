// Second factors and passkeys in two processes of a generated application, which share a database.
import { afterAll, beforeAll, expect, test } from "vitest";
import { authenticatorCode, createTestClient, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { type Crowd, FactorProcesses, sharing, twenty } from "../support/factor-processes.ts";
import { send } from "../support/feature-shop.ts";
import { inPairs } from "../support/in-pairs.ts";
import { optionsFor, PasskeyDevice } from "../support/passkey-device.ts";
import { onEachDatabase } from "../support/services.ts";
import { codesOn, PASSWORD, secretOn } from "../support/two-factor-shop.ts";

const APP = '[action="/account/two_factor/app"]';
const NEW_PASSWORD = "another password of hers";

await onEachDatabase("two processes,", (engine) => {
  let processes: FactorProcesses;
  let crowd: Crowd;
  let count = 0;

  beforeAll(async () => {
    processes = await FactorProcesses.install(engine);
    crowd = await processes.start();
  });
  afterAll(() => processes?.end());

  const newUser = () => processes.addUser(`ada${++count}@example.com`);

  async function loggedIn({ email }: FullUser): Promise<TestClient> {
    const client = createTestClient(crowd.one, { address: "198.51.100.1" });
    (await send(client, "/login", { email, password: PASSWORD })).assertRedirect("/home");
    return client;
  }

  /** A user with an app, whose recovery codes are known. */
  async function userWithApp(): Promise<{
    user: FullUser;
    client: TestClient;
    secret: string;
    codes: readonly string[];
  }> {
    const user = await newUser();
    const client = await loggedIn(user);
    const page = await client.get("/account/two_factor/app");
    const secret = secretOn(page);
    const done = await client.submit(page, APP, { code: authenticatorCode(secret) });
    return { user, client, secret, codes: codesOn(done.assertStatus(201)) };
  }

  /** Twenty visitors who have entered the password, each on the page that asks for a second factor. */
  async function halfIn({ email }: FullUser, at: Crowd = crowd) {
    const paired = inPairs();
    const halves = twenty(at).map(async (client) => {
      const sent = await paired(() => send(client, "/login", { email, password: PASSWORD }));
      return { client, page: await client.follow(sent.assertRedirect("/login/two_factor")) };
    });
    return await Promise.all(halves);
  }

  /** The clients whose requests get the page behind a login. */
  async function inside(clients: readonly TestClient[]): Promise<readonly TestClient[]> {
    const pages = await Promise.all(clients.map((client) => client.get("/home")));
    return clients.filter((_, index) => pages[index]!.status === 200);
  }

  /** The requests of one browser, which go to both processes in turn. */
  function ofOneBrowser(client: TestClient, request: (client: TestClient) => Promise<TestResponse>) {
    const twins = [client, sharing(client, crowd.other, "198.51.100.1")];
    return Promise.all(Array.from({ length: 20 }, (_, index) => request(twins[index % 2]!)));
  }

  const having = (responses: readonly TestResponse[], status: number) =>
    responses.filter((response) => response.status === status);

  test("S142 of twenty requests that set up one app, one does, and only its codes count", async () => {
    const user = await newUser();
    const client = await loggedIn(user);
    const page = await client.get("/account/two_factor/app");
    const code = authenticatorCode(secretOn(page));
    const sent = await ofOneBrowser(client, (one) => one.submit(page, APP, { code }));
    const [done, ...others] = having(sent, 201);
    expect([codesOn(done!).length, others.length]).toEqual([10, 0]);
    expect(await processes.rows("totp", user)).toHaveLength(1);
    expect(await processes.rows("recovery_code", user)).toHaveLength(10);
    const [half] = await halfIn(user);
    await half!.client.submit(half!.page, { recovery_code: codesOn(done!)[0]! });
    expect(await inside([half!.client])).toHaveLength(1);
  });

  test("S142 of twenty visitors with one code, one is in, and likewise with one recovery code", async () => {
    const { user, secret, codes } = await userWithApp();
    for (const proof of [{ code: authenticatorCode(secret, 30) }, { recovery_code: codes[0]! }]) {
      const visitors = await halfIn(user);
      await Promise.all(visitors.map(({ client, page }) => client.submit(page, proof)));
      expect(await inside(visitors.map(({ client }) => client))).toHaveLength(1);
    }
    expect(await processes.rows("recovery_code", user)).toHaveLength(9);
  });

  test("S142 of twenty requests for a token with one code, one gets one, and likewise with one recovery code", async () => {
    const { user, secret, codes } = await userWithApp();
    const credentials = { username: user.email, password: PASSWORD };
    for (const proof of [{ code: authenticatorCode(secret, 30) }, { recovery_code: codes[0]! }]) {
      const clients = twenty(crowd);
      const paired = inPairs();
      const begun = await Promise.all(clients.map((one) => paired(() => one.postJson("/api/auth", credentials))));
      const sent = await Promise.all(
        clients.map((one, index) => {
          const { pending } = begun[index]!.assertStatus(401).json as { pending: string };
          return one.withToken(pending).postJson("/api/auth", proof);
        }),
      );
      expect([having(sent, 200).length, having(sent, 401).length]).toEqual([1, 19]);
    }
  });

  test("S142 GHSA-7w99-5wm4-3g79: of twenty requests with one waiting login, each with its own code, one gets a token", async () => {
    const { user, codes } = await userWithApp();
    const clients = twenty(crowd);
    const begun = await clients[0]!.postJson("/api/auth", { username: user.email, password: PASSWORD });
    const { pending } = begun.assertStatus(401).json as { pending: string };
    const sent = await Promise.all(
      clients.map((one, index) => {
        return one.withToken(pending).postJson("/api/auth", { recovery_code: codes[index % 10]! });
      }),
    );
    expect([having(sent, 200).length, having(sent, 401).length]).toEqual([1, 19]);
    (await clients[0]!.withToken(pending).postJson("/api/auth", { recovery_code: codes[9]! })).assertStatus(401);
  });

  test("S142 of twenty requests with one passkey's challenge, one registers it, one logs in, and one gets a token", async () => {
    const user = await newUser();
    const client = (await loggedIn(user)).withCsrfToken();
    const device = new PasskeyDevice({ counts: 0 });
    const credential = device.create(await optionsFor(client, "/account/passkeys"));
    const twin = () => sharing(client, crowd.other, "198.51.100.1").withCsrfToken();
    const twins = [client, twin()];
    const twentyTimes = (request: (client: TestClient) => Promise<TestResponse>) =>
      Promise.all(Array.from({ length: 20 }, (_, index) => request(twins[index % 2]!)));
    const added = await twentyTimes((one) => one.postJson("/account/passkeys", { credential, name: "Phone" }));
    expect([having(added, 201).length, having(added, 422).length]).toEqual([1, 19]);
    expect(await processes.rows("passkey", user)).toHaveLength(1);

    const guest = createTestClient(crowd.one, { address: "198.51.100.2" }).withCsrfToken();
    const assertion = device.get(await optionsFor(guest, "/login/passkey"));
    const guests = [guest, sharing(guest, crowd.other, "198.51.100.2").withCsrfToken()];
    const logins = await Promise.all(
      Array.from({ length: 20 }, (_, index) => guests[index % 2]!.postJson("/login/passkey", { assertion })),
    );
    expect(having(logins, 200)).toHaveLength(1);

    const clients = twenty(crowd);
    const { data } = (await clients[0]!.postJson("/api/passkey/options")).json as { data: object };
    const proof = device.get(data);
    const tokens = await Promise.all(clients.map((one) => one.postJson("/api/passkey", { assertion: proof })));
    expect([having(tokens, 200).length, having(tokens, 401).length]).toEqual([1, 19]);
  });

  test("S52 S142 a code that is entered while the password changes lets no one in after it has changed", async () => {
    const { user, codes, secret } = await userWithApp();
    const [owner, ...visitors] = await halfIn(user);
    const { client, page } = owner!;
    (await client.submit(page, { code: authenticatorCode(secret, 30) })).assertRedirect("/home");
    const step = await client.follow(await send(client, "/confirm_password", { password: PASSWORD }));
    await client.submit(step, { recovery_code: codes[8]! });
    const form = await client.get("/account/password");
    const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    const [changed] = await Promise.all([
      client.submit(form, '[action="/account/password"]', change),
      ...visitors.slice(0, 8).map((one, index) => one.client.submit(one.page, { recovery_code: codes[index]! })),
    ]);
    changed!.assertRedirect("/home");
    // Whichever came first: nothing that was proved before the change outlasts it, and nothing completes after it.
    const { kysely } = processes.application.container.make("database");
    const logins = await kysely.selectFrom("logins").selectAll().where("user_id", "=", user.id).execute();
    const epoch = (await processes.User.findOrFail(user.id)).accessEpoch();
    expect(logins.filter(({ access_epoch }) => access_epoch === epoch)).toHaveLength(1);
    expect(await inside(visitors.map((one) => one.client))).toEqual([]);
    expect(await inside([client])).toHaveLength(1);
    const late = await Promise.all(
      visitors.slice(8).map((one) => one.client.submit(one.page, { recovery_code: codes[9]! })),
    );
    expect(late.map((response) => response.headers.get("location"))).toEqual(Array(11).fill("/login"));
  });

  test("S141 a trusted device logs in without a code until it is ended, even while it is", async () => {
    const { user, client, secret } = await userWithApp();
    const device = createTestClient(crowd.other, { address: "198.51.100.9" });
    const page = await device.follow(await send(device, "/login", { email: user.email, password: PASSWORD }));
    const fields = { code: authenticatorCode(secret, 30), trust_device: "1" };
    (await device.submit(page, '[action="/login/two_factor"]', fields)).assertRedirect("/home");
    const trusted = device.cookies.get("trusted_device")!;
    const returning = () =>
      twenty(crowd).map((one) => {
        one.cookies.store(`trusted_device=${trusted}; Path=/`, new URL("http://localhost:3000"));
        return one;
      });
    const overview = await client.get("/account/two_factor");
    const clients = returning();
    const logIn = (one: TestClient) => send(one, "/login", { email: user.email, password: PASSWORD });
    const paired = inPairs();
    const login = (one: TestClient) => paired(() => logIn(one));
    const [ended, ...during] = await Promise.all([
      client.submit(overview, '[action*="/account/two_factor/devices/"]'),
      ...clients.map(login),
    ]);
    ended!.assertStatus(302);
    // Each login went one way or the other: it skipped the step, or it waits and has authenticated nothing.
    const through = during.filter((response) => response.headers.get("location") === "/home");
    const waiting = during.filter((response) => response.headers.get("location") === "/login/two_factor");
    expect(through.length + waiting.length).toBe(20);
    expect(await inside(clients)).toHaveLength(through.length);
    expect(await processes.rows("trusted_device", user)).toEqual([]);
    const after = await Promise.all(returning().map(login));
    expect(new Set(after.map((response) => response.headers.get("location")))).toEqual(new Set(["/login/two_factor"]));
  });

  test("S33 under the same load, a locked factor opens for three codes in a row, and for nothing less", async () => {
    const { user, secret } = await userWithApp();
    const limited = await processes.start("generated");
    const shown = [authenticatorCode(secret, -30), authenticatorCode(secret), authenticatorCode(secret, 30)];
    /** All visitors at once: each enters one code, twice. */
    async function enter(visitors: Awaited<ReturnType<typeof halfIn>>, code: string): Promise<number> {
      await Promise.all(
        visitors.map(async ({ client }) => {
          const page = await client.get("/login/two_factor");
          await client.submit(page, '[action="/login/two_factor"]', { code });
          await client.submit(page, '[action="/login/two_factor"]', { code });
        }),
      );
      return (await inside(visitors.map(({ client }) => client))).length;
    }
    const guessers = await halfIn(user, limited);
    for (const code of ["000000", "111111", ...shown.toReversed()]) expect(await enter(guessers, code)).toBe(0);
    const owners = await halfIn(user, limited);
    const entered: number[] = [];
    for (const code of shown) entered.push(await enter(owners, code));
    expect(entered).toEqual([0, 0, 1]);
  });
});
