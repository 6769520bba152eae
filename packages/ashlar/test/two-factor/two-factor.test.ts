import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { captureEvents, captureMail, freeze, type TestResponse, travel, travelBack } from "../../src/testing/index.ts";
import { claimsOf, renewedAmr, send, type TokenPair } from "../support/feature-shop.ts";
import { App, CREDENTIALS, codesOn, EMAIL, PASSWORD, secretOn, TwoFactorShop } from "../support/two-factor-shop.ts";

let shop: TwoFactorShop;

beforeAll(async () => {
  shop = await TwoFactorShop.install({ settings: ["trustDays: 30"] });
});
afterAll(() => shop.end());
beforeEach(() => void freeze());
afterEach(() => travelBack());

const MISSING = "Enter the code that your authenticator app shows.";
const WRONG = "That didn't work.";
const TOKEN = { username: EMAIL, password: PASSWORD };
const NEW_PASSWORD = "another of hers";

describe("a login", () => {
  test("asks for the code of the app, on a page that says why, and records how it was proved", async () => {
    const { ada, app } = await shop.userWithApp();
    using events = captureEvents(shop.application);
    const { client, page } = await shop.halfIn();
    page.assertSee("Two-factor authentication", MISSING, "Six-digit code");
    await client.assertGuest();
    (await client.follow(await client.submit(page, { code: "000000" }))).assertSee(WRONG);
    await client.assertGuest();
    (await client.submit(await client.get("/login/two_factor"), { code: app.next() })).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
    expect(events.of("auth.login").map(({ by }) => by)).toEqual([["password", "totp"]]);
    expect(events.of("auth.failed").map(({ by }) => by)).toEqual(["totp"]);
    const { data } = (await client.getJson("/logins")).json as {
      data: { logins: { isCurrent: boolean; by: readonly string[] }[] };
    };
    expect(data.logins.find(({ isCurrent }) => isCurrent)?.by).toEqual(["password", "totp"]);
  });

  test("of a JSON client gets the ways to pass it, and sends the proof to their URL or along with the password", async () => {
    const { app, recoveryCodes } = await shop.userWithApp();
    const client = shop.visitor().withCsrfToken();
    const flows = [
      { id: "totp", field: "code", url: "/login/two_factor" },
      { id: "recovery_code", field: "recovery_code", url: "/login/two_factor" },
    ];
    const pending = { status: "pending", step: "two_factor", message: MISSING, flows };
    (await client.postJson("/login", CREDENTIALS)).assertJsonContains({ data: pending });
    (await client.getJson("/login/two_factor")).assertJsonContains({ data: { status: "pending", step: "two_factor" } });
    const wrong = await client.postJson("/login/two_factor", { code: "000000" });
    wrong.assertJsonContains({ data: { status: "pending", flows } }).assertSee(WRONG);
    const done = await client.postJson("/login/two_factor", { code: app.next() });
    done.assertJson({ data: { status: "complete" } });
    const other = shop.visitor().withCsrfToken();
    const along = await other.postJson("/login", { ...CREDENTIALS, recovery_code: recoveryCodes[0] });
    along.assertJson({ data: { status: "complete" } });
    (await shop.visitor().withCsrfToken().postJson("/login/two_factor", { code: app.next() })).assertStatus(401);
  });

  test("for a token needs it too, says how it was proved, and is renewed without another", async () => {
    const { app } = await shop.userWithApp();
    const client = shop.visitor();
    const refused = { code: "E_LOGIN_PENDING", step: "two_factor", detail: MISSING };
    (await client.postJson("/api/auth", TOKEN)).assertStatus(401).assertJsonContains(refused);
    (await client.postJson("/api/auth", { ...TOKEN, code: "000000" })).assertStatus(401).assertSee(WRONG);
    const pair = (await client.postJson("/api/auth", { ...TOKEN, code: app.next() })).assertStatus(200)
      .json as TokenPair;
    expect(claimsOf(pair.data)).toMatchObject({ amr: ["pwd", "otp", "mfa"] });
    expect(await renewedAmr(client, pair)).toEqual([
      ["pwd", "otp", "mfa"],
      ["pwd", "otp", "mfa"],
    ]);
  });

  test("of a user without a second factor needs none", async () => {
    const ada = await shop.addAda();
    const client = await shop.loggedIn();
    await client.assertAuthenticatedAs(ada);
    (await client.get("/login/two_factor")).assertRedirect("/login");
    (await client.get("/login/two_factor/setup")).assertRedirect("/login");
  });

  test("S142 a code works once, in whichever request, and never again", async () => {
    const { app } = await shop.userWithApp();
    const code = app.next();
    const visitors = [await shop.halfIn(), await shop.halfIn("203.0.113.9")];
    await Promise.all(
      visitors.map(({ client, page }) => client.submit(page, '[action="/login/two_factor"]', { code })),
    );
    const homes = await Promise.all(visitors.map(({ client }) => client.get("/home")));
    expect(homes.map(({ status }) => status).sort()).toEqual([200, 302]);
    const { client, page } = await shop.halfIn();
    await client.submit(page, { code });
    await client.assertGuest();
  });

  test("S142 the code that set an app up doesn't log in", async () => {
    const { app } = await shop.userWithApp();
    const { client, page } = await shop.halfIn();
    await client.submit(page, { code: app.shown });
    await client.assertGuest();
  });

  test("S52 a code that was entered while the password changes starts nothing", async () => {
    const { ada, app } = await shop.userWithApp();
    const { client, page } = await shop.halfIn();
    await (await shop.User.findOrFail(ada.id)).endAccess();
    await client.submit(page, { code: app.next() });
    await client.assertGuest();
    const { client: parked, page: form } = await shop.halfIn();
    const { totp } = shop.application.container.make("twoFactor");
    const { accept } = totp;
    // Between the proof and its effect.
    totp.accept = async (...args) => {
      const holds = await accept.apply(totp, args);
      await (await shop.User.findOrFail(ada.id)).endAccess();
      return holds;
    };
    try {
      await parked.submit(form, { code: app.next() });
    } finally {
      totp.accept = accept;
    }
    await parked.assertGuest();
  });

  test("by a recovery code works once, in any spelling, and the owner learns how many are left", async () => {
    const { ada, recoveryCodes } = await shop.userWithApp();
    expect(new Set(recoveryCodes).size).toBe(10);
    using events = captureEvents(shop.application);
    const mail = await captureMail(shop.application);
    const stored = JSON.stringify(await shop.rows("authenticators"));
    for (const code of recoveryCodes) expect(stored).not.toContain(code);
    for (const [index, code] of recoveryCodes.slice(0, 9).entries()) {
      const { client, page } = await shop.halfIn(`203.0.113.${index + 1}`);
      const typed = index === 0 ? ` ${code.toUpperCase().replaceAll("-", " ")}` : code;
      await client.submit(page, { recovery_code: typed });
      await client.assertAuthenticatedAs(ada);
    }
    const left = events.of("two_factor.code_used").map((event) => event.left);
    expect(left).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
    const mails = (await mail.all()).filter(({ subject }) => subject === "A recovery code was used");
    expect(mails.map(({ text }) => /Make new ones/.test(text ?? ""))).toEqual([...Array(7).fill(false), true, true]);
    const { client, page } = await shop.halfIn();
    await client.submit(page, { recovery_code: recoveryCodes[0]! });
    await client.assertGuest();
    const last = await shop.halfIn();
    await last.client.submit(last.page, { recovery_code: recoveryCodes[9]! });
    (await last.client.get("/account/two_factor")).assertSee(
      "0 recovery codes left.",
      "Make new ones before you need them.",
    );
  });

  test("S37 codes, recovery codes and secrets of one user are not those of another", async () => {
    const { app, recoveryCodes } = await shop.userWithApp();
    await shop.addUser("Bob", "bob@example.com");
    const bob = await shop.loggedIn("bob@example.com");
    await shop.enrol(bob);
    for (const proof of [{ code: app.next() }, { recovery_code: recoveryCodes[0]! }] as Record<string, string>[]) {
      const { client, page } = await shop.halfIn(undefined, "bob@example.com");
      await client.submit(page, proof);
      await client.assertGuest();
    }
    // A row that was copied, by someone who can write to the database.
    const [ada, own] = await shop.authenticators("totp");
    const { kysely } = shop.application.container.make("database");
    await kysely.updateTable("authenticators").set({ data: ada!.data }).where("id", "=", own!.id).execute();
    const { client, page } = await shop.halfIn(undefined, "bob@example.com");
    await client.submit(page, { code: app.next() });
    await client.assertGuest();
  });
});

describe("attempts", () => {
  /** Uses the attempts at an account up, as someone who has the password. */
  async function useUp(): Promise<TestResponse> {
    let last: TestResponse | null = null;
    for (let guess = 0; guess < 6; guess++) {
      const { client, page } = await shop.halfIn(`198.51.100.${guess + 1}`);
      last = await client.submit(page, { code: "000000" });
    }
    return last!;
  }

  test("S33 are limited for each account, whatever their address", async () => {
    await shop.userWithApp();
    using events = captureEvents(shop.application);
    const refused = await useUp();
    expect(events.of("auth.failed")).toHaveLength(5);
    refused.assertRedirect("/login/two_factor");
    const token = await shop.visitor().postJson("/api/auth", { ...TOKEN, code: "000000" });
    token.assertStatus(429);
  });

  test("S33 three codes in a row log the owner in once they are used up, and give a guesser no more of them", async () => {
    const { ada, app } = await shop.userWithApp();
    await useUp();
    const { client, page } = await shop.halfIn();
    const first = await client.follow(await client.submit(page, { code: app.next() }));
    first.assertSee("Too many wrong codes were tried for your account.", "This was the first.");
    const second = await client.follow(await client.submit(first, { code: app.next() }));
    second.assertSee("Now enter the third code");
    await client.assertGuest();
    (await client.submit(second, { code: app.next() })).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
    (await shop.visitor("198.51.100.1").postJson("/api/auth", { ...TOKEN, code: app.next() })).assertStatus(429);
  });

  test("S33 nothing tells which of three codes was wrong, and two right ones are not enough", async () => {
    const { app } = await shop.userWithApp();
    await useUp();
    const pages: string[][] = [];
    for (const wrong of [0, 1, 2]) {
      const { client, page } = await shop.halfIn(`192.0.2.${wrong + 1}`);
      let form = page;
      const seen: string[] = [];
      for (const index of [0, 1, 2]) {
        const right = app.next();
        form = await client.follow(await client.submit(form, { code: index === wrong ? "000000" : right }));
        seen.push(form.pageText.replaceAll(/\s+/g, " "));
      }
      pages.push(seen);
      await client.assertGuest();
    }
    expect(pages[1]).toEqual(pages[0]);
    expect(pages[2]).toEqual(pages[0]);
    expect(pages[0]!.at(-1)).toContain("These were not three codes in a row.");
  });

  test("S142 three codes must be of periods in a row, and none of them may have been used", async () => {
    const { app } = await shop.userWithApp();
    await useUp();
    const gap = await shop.halfIn("192.0.2.1");
    let form = gap.page;
    for (const periods of [1, 2, 1]) {
      for (let period = 0; period < periods - 1; period++) app.next();
      form = await gap.client.follow(await gap.client.submit(form, { code: app.next() }));
    }
    await gap.client.assertGuest();
    const [one, other] = [await shop.halfIn("192.0.2.2"), await shop.halfIn("192.0.2.3")];
    for (let index = 0; index < 3; index++) {
      const code = app.next();
      for (const half of [one, other]) {
        const page = await half.client.get("/login/two_factor");
        await half.client.submit(page, { code });
      }
    }
    expect([(await one.client.get("/home")).status, (await other.client.get("/home")).status]).toEqual([200, 302]);
  });

  test("the same code twice doesn't count as two of them", async () => {
    const { app } = await shop.userWithApp();
    await useUp();
    const { client, page } = await shop.halfIn();
    const code = app.next();
    const first = await client.follow(await client.submit(page, { code }));
    (await client.follow(await client.submit(first, { code }))).assertSee("Wait until your app shows the next code.");
  });

  test("S33 recovery codes can still be used then, and wrong ones are only counted by address", async () => {
    const { ada, recoveryCodes } = await shop.userWithApp();
    await useUp();
    const { client: guesser, page: form } = await shop.halfIn("198.51.100.77");
    const statuses: number[] = [];
    for (let guess = 0; guess < 11; guess++) {
      statuses.push((await guesser.submit(form, { recovery_code: "aaaa-bbbb-cccc-dddd" })).status);
    }
    expect(statuses.indexOf(429)).toBe(10);
    const { client, page } = await shop.halfIn();
    await client.submit(page, { recovery_code: recoveryCodes[0]! });
    await client.assertAuthenticatedAs(ada);
  });

  test("right codes use nothing up", async () => {
    const { app } = await shop.userWithApp();
    for (let round = 0; round < 6; round++) {
      const { client, page } = await shop.halfIn();
      (await client.submit(page, { code: app.next() })).assertRedirect("/home");
    }
  });
});

describe("setting it up", () => {
  test("asks for a recent proof, counts once a code has confirmed it, and ends other logins", async () => {
    const ada = await shop.addAda();
    const [client, other] = [await shop.loggedIn(), await shop.loggedIn()];
    using events = captureEvents(shop.application);
    const mail = await captureMail(shop.application);
    (await client.get("/account/two_factor")).assertSee("Set up an authenticator app");
    const page = await client.get("/account/two_factor/app");
    const secret = secretOn(page);
    page.assertSee(secret.replaceAll(/.{4}(?=.)/g, "$& "));
    expect(page.text).toContain('role="img" aria-label="QR code for your authenticator app"><svg width="240"');
    expect(secretOn(await client.get("/account/two_factor/app"))).toBe(secret);
    const form = '[action="/account/two_factor/app"]';
    const wrong = await client.follow(await client.submit(page, form, { code: "000000" }));
    wrong.assertSee("This code is not valid.");
    expect(await shop.rows("authenticators")).toEqual([]);
    const done = await client.submit(page, form, { code: new App(secret).shown });
    done.assertStatus(201).assertSee("Two-factor authentication is on.", "shown only this once");
    const codes = codesOn(done);
    expect(codes).toHaveLength(10);
    const [, file = ""] =
      /download="recovery-codes.txt" href="data:text\/plain;charset=utf-8,([^"]+)"/.exec(done.text) ?? [];
    expect(
      decodeURIComponent(file)
        .split("\r\n")
        .filter((line) => line !== ""),
    ).toEqual([expect.any(String), ...codes]);
    await other.assertGuest();
    await client.assertAuthenticatedAs(ada);
    expect(JSON.stringify(await shop.rows("authenticators"))).not.toContain(secret);
    expect(events.of("two_factor.added").map(({ factor, guard }) => [factor, guard])).toEqual([["totp", "web"]]);
    const [sent] = await mail.all();
    expect([sent?.to, sent?.subject]).toEqual([EMAIL, "Two-factor authentication was turned on"]);
  });

  test("needs a fresh confirmation, and everything that changes it does", async () => {
    const { app, client } = await shop.userWithApp();
    travel(11);
    for (const path of ["/account/two_factor/app"]) (await client.get(path)).assertRedirect("/confirm_password");
    const overview = await client.get("/account/two_factor");
    for (const action of ["/account/two_factor/codes", "/account/two_factor"]) {
      (await client.submit(overview, `form[action="${action}"]`)).assertRedirect("/confirm_password");
    }
    (await send(client, "/confirm_password", { password: PASSWORD })).assertRedirect("/login/two_factor");
    (await client.get("/account/two_factor/app")).assertRedirect("/confirm_password");
    await send(client, "/confirm_password", { password: PASSWORD });
    await client.submit(await client.get("/login/two_factor"), { code: app.next() });
    (await client.get("/account/two_factor/app")).assertStatus(200);
  });

  test("S142 one of twenty requests does, and one set of recovery codes counts", async () => {
    await shop.addAda();
    const client = await shop.loggedIn();
    const page = await client.get("/account/two_factor/app");
    const app = new App(secretOn(page));
    const form = '[action="/account/two_factor/app"]';
    const all = await Promise.all(Array.from({ length: 20 }, () => client.submit(page, form, { code: app.shown })));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await shop.authenticators("totp")).toHaveLength(1);
    expect(await shop.authenticators("recovery_code")).toHaveLength(10);
  });

  test("another app replaces the first, whose codes no longer work, and the recovery codes stay", async () => {
    const { ada, app, recoveryCodes } = await shop.userWithApp();
    const client = await shop.loggedInWith(app);
    using events = captureEvents(shop.application);
    const page = await client.get("/account/two_factor/app");
    const next = new App(secretOn(page));
    expect(next.secret).not.toBe(app.secret);
    const done = await client.submit(page, '[action="/account/two_factor/app"]', { code: next.next() });
    (await client.follow(done)).assertSee("Logins now ask for a code from the new app.");
    expect(events.of("two_factor.replaced")).toHaveLength(1);
    const old = await shop.halfIn();
    await old.client.submit(old.page, { code: app.next() });
    await old.client.assertGuest();
    const { client: other, page: form } = await shop.halfIn();
    await other.submit(form, { code: next.next() });
    await other.assertAuthenticatedAs(ada);
    const last = await shop.halfIn();
    await last.client.submit(last.page, { recovery_code: recoveryCodes[3]! });
    await last.client.assertAuthenticatedAs(ada);
  });

  test("new recovery codes replace the old ones, and the owner gets a mail", async () => {
    const { app, recoveryCodes } = await shop.userWithApp();
    const client = await shop.loggedInWith(app);
    const mail = await captureMail(shop.application);
    const renewed = await client.submit(
      await client.get("/account/two_factor"),
      '[action="/account/two_factor/codes"]',
    );
    const codes = codesOn(renewed.assertStatus(201));
    expect([codes.length, codes.some((code) => recoveryCodes.includes(code))]).toEqual([10, false]);
    expect((await mail.all()).map(({ subject }) => subject)).toEqual(["You have new recovery codes"]);
    const { client: other, page } = await shop.halfIn();
    await other.submit(page, { recovery_code: recoveryCodes[0]! });
    await other.assertGuest();
    (await client.get("/account/two_factor")).assertSee("10 recovery codes left.").assertDontSee(codes[0]!);
  });

  test("turning it off removes everything, and the owner gets a mail", async () => {
    const { ada, app } = await shop.userWithApp();
    const client = await shop.loggedInWith(app);
    using events = captureEvents(shop.application);
    const mail = await captureMail(shop.application);
    const off = await client.submit(await client.get("/account/two_factor"), '[action="/account/two_factor"]');
    (await client.follow(off)).assertSee("Two-factor authentication is off.");
    expect(await shop.rows("authenticators")).toEqual([]);
    expect(events.of("two_factor.removed")).toHaveLength(1);
    expect((await mail.all()).map(({ subject }) => subject)).toEqual(["Two-factor authentication was turned off"]);
    await (await shop.loggedIn()).assertAuthenticatedAs(ada);
  });

  test("a new password and a reset take no factor off", async () => {
    const { app, client } = await shop.userWithApp();
    // At an account whose address was never verified, someone else may have set it up.
    await shop.User.where("email", EMAIL).update({ verified_at: new Date() });
    const fields = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await send(client, "/account/password", fields);
    await client.submit(await client.get("/login/two_factor"), { code: app.next() });
    (await send(client, "/account/password", fields)).assertRedirect("/home");
    const mail = await captureMail(shop.application);
    const visitor = shop.visitor();
    await send(visitor, "/change_password", { email: EMAIL });
    const [link = ""] = /\/password_reset\?token=[\w.~-]+/.exec((await mail.all()).at(-1)!.text ?? "") ?? [];
    const fresh = { password: PASSWORD, password_confirmation: PASSWORD };
    await visitor.submit(await visitor.get(link), fresh);
    const { client: other, page } = await shop.halfIn();
    page.assertSee("Six-digit code");
    await other.assertGuest();
  });
});

describe("a trusted device", () => {
  async function trusting() {
    const user = await shop.userWithApp();
    const { client, page } = await shop.halfIn();
    await client.submit(page, '[action="/login/two_factor"]', { code: user.app.next(), trust_device: "1" });
    return { ...user, device: client };
  }

  /** Logs out, and in again with the password. */
  async function again(device: Awaited<ReturnType<typeof trusting>>["device"]): Promise<TestResponse> {
    const home = await device.get("/home");
    if (home.status === 200) await device.submit(home, '[action="/logout"]');
    return device.follow(await send(device, "/login", CREDENTIALS));
  }

  test("isn't asked for 30 days, and is listed", async () => {
    const { ada, device } = await trusting();
    travel(29 * 24 * 60);
    await again(device);
    await device.assertAuthenticatedAs(ada);
    (await device.get("/account/two_factor")).assertSee("Trusted devices", "Trusted until");
    travel(2 * 24 * 60);
    (await again(device)).assertSee("Six-digit code");
    await device.assertGuest();
  });

  test("S141 proves nothing: neither the login nor a route that needs a second factor counts it", async () => {
    const { app, device } = await trusting();
    await again(device);
    const { data } = (await device.getJson("/logins")).json as {
      data: { logins: { isCurrent: boolean; by: string[] }[] };
    };
    expect(data.logins.find(({ isCurrent }) => isCurrent)?.by).toEqual(["password"]);
    (await device.get("/account/two_factor/app")).assertRedirect("/confirm_password");
    (await device.getJson("/account/two_factor/app"))
      .assertStatus(403)
      .assertJsonContains({ code: "E_TWO_FACTOR_REQUIRED" });
    (await send(device, "/confirm_password", { password: PASSWORD })).assertRedirect("/login/two_factor");
    (await device.submit(await device.get("/login/two_factor"), { code: app.next() })).assertRedirect(
      "/account/two_factor/app",
    );
    (await device.get("/account/two_factor/app")).assertStatus(200);
  });

  test("of one user isn't one of another", async () => {
    const { device } = await trusting();
    await shop.addUser("Bob", "bob@example.com");
    await shop.enrol(await shop.loggedIn("bob@example.com"));
    await device.submit(await device.get("/home"), '[action="/logout"]');
    const page = await device.follow(await send(device, "/login", { email: "bob@example.com", password: PASSWORD }));
    page.assertSee("Six-digit code");
    await device.assertGuest();
  });

  test("S51 ends with access to the account, and when its owner says so", async () => {
    const { ada, app, device } = await trusting();
    const [row] = await shop.authenticators("trusted_device");
    expect(JSON.stringify(row)).not.toContain(device.cookies.get("trusted_device")!);
    await (await shop.User.findOrFail(ada.id)).endAccess();
    const page = await device.follow(await send(device, "/login", CREDENTIALS));
    page.assertSee("Six-digit code");
    await device.submit(page, '[action="/login/two_factor"]', { code: app.next(), trust_device: "1" });
    const overview = await device.get("/account/two_factor");
    const forgotten = await device.submit(overview, '[action*="/account/two_factor/devices/"]');
    (await device.follow(forgotten)).assertSee("Logins on this device ask for a code again.");
    (await again(device)).assertSee("Six-digit code");
  });

  test("S145 is ended by its owner alone", async () => {
    await trusting();
    const [row] = await shop.authenticators("trusted_device");
    await shop.addUser("Bob", "bob@example.com");
    const bob = (await shop.loggedIn("bob@example.com")).withCsrfToken();
    (await bob.deleteJson(`/account/two_factor/devices/${row!.id}`)).assertJsonContains({ data: { status: "gone" } });
    expect(await shop.authenticators("trusted_device")).toHaveLength(1);
  });
});

test("an export lists all stored data, without secrets, and all of it is deleted with the account", async () => {
  const { ada } = await shop.userWithApp();
  const { userData, users } = shop.application.container.make("accounts");
  const guards = users.guardsKeeping(shop.User);
  const own = await userData.export({ user: await shop.User.findOrFail(ada.id), id: ada.id, guards, email: ada.email });
  const kinds = (own.two_factor as { kind: string }[]).map(({ kind }) => kind);
  expect(kinds).toEqual(["totp", ...Array(10).fill("recovery_code")]);
  expect(Object.keys((own.two_factor as object[])[0]!)).toEqual([
    "kind",
    "name",
    "created_at",
    "last_used_at",
    "expires_at",
  ]);
  await (await shop.User.findOrFail(ada.id)).delete();
  expect(await shop.rows("authenticators")).toEqual([]);
});
