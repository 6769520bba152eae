import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { authenticatorCode, quickHasher, type TestResponse } from "../../src/testing/index.ts";
import { optionsFor, PasskeyDevice } from "../support/passkey-device.ts";
import { codesOn, secretOn } from "../support/two-factor-shop.ts";
import type { DoorShop } from "./door-shop.ts";
import type { RemoteBrowser } from "./remote-browser.ts";

export const PASSWORD = "a password of hers";
export const NEW_PASSWORD = "another password altogether";

let count = 0;
let hash: Promise<string> | null = null;

/** An account, and what its owner has. */
export class DoorAccount {
  readonly shop: DoorShop;
  readonly id: number;
  /** Where its mails go. */
  readonly email: string;
  /** What its owner logs in with, if that was changed. */
  login: string;
  /** The address that its owner's requests come from. */
  readonly address: string;
  /** The secret of its app. */
  #secret: string | null = null;
  #canUsePassword = true;
  recoveryCodes: readonly string[] = [];
  device: PasskeyDevice | null = null;
  /** The browser that skips the second factor. */
  trusted: RemoteBrowser | null = null;

  private constructor(shop: DoorShop, id: number, email: string, address: string) {
    this.shop = shop;
    this.id = id;
    this.email = email;
    this.login = email;
    this.address = address;
  }

  static async create(
    shop: DoorShop,
    { isVerified = true }: { readonly isVerified?: boolean } = {},
  ): Promise<DoorAccount> {
    const number = ++count;
    const email = `person${number}@example.com`;
    hash ??= quickHasher().hash(PASSWORD);
    const now = new Date();
    const row = {
      ...{ name: "Ada", email, password: await hash, access_epoch: randomBytes(16).toString("base64url") },
      ...{ verified_at: isVerified ? now : null, created_at: now, updated_at: now },
    };
    const { kysely } = shop;
    await kysely.insertInto("users").values(row).execute();
    const { id } = await kysely.selectFrom("users").select("id").where("email", "=", email).executeTakeFirstOrThrow();
    const address = `127.${10 + (number >> 14)}.${(number >> 7) & 127}.${1 + (number & 127)}`;
    return new DoorAccount(shop, Number(id), email, address);
  }

  get hasApp(): boolean {
    return this.#secret !== null;
  }

  /** Whether a passkey is all that its owner can log in with. */
  get isPasskeyOnly(): boolean {
    return !this.#canUsePassword;
  }

  /** Changes the account's row, as the application's own code may. */
  async change(columns: Readonly<Record<string, unknown>>): Promise<void> {
    await this.shop.kysely.updateTable("users").set(columns).where("id", "=", this.id).execute();
  }

  /** The app's code, which is accepted although one of the same time was used: the test doesn't wait for the next one. */
  async code(): Promise<string> {
    await this.shop.kysely
      .updateTable("authenticators")
      .set({ counter: 0 })
      .where("user_id", "=", String(this.id))
      .where("kind", "=", "totp")
      .execute();
    return authenticatorCode(this.#secret!);
  }

  visitor(): RemoteBrowser {
    return this.shop.visitor(this.address);
  }

  /** Enters the password on the login page, and returns the page that follows. */
  async enterPassword(
    browser: RemoteBrowser,
    more: Readonly<Record<string, string | boolean>> = {},
  ): Promise<TestResponse> {
    const page = await browser.get("/login");
    return browser.submit(page, '[action="/login"]', { email: this.login, password: PASSWORD, ...more });
  }

  /** Logs in with everything that the account's owner has. */
  async logIn(
    browser: RemoteBrowser = this.visitor(),
    options: { remember?: boolean; trust?: boolean } = {},
  ): Promise<RemoteBrowser> {
    const remember = options.remember === true ? { remember: true } : {};
    if (!this.#canUsePassword) {
      const page = await browser.get("/login");
      (await this.#submitAssertion(browser, page, options.remember === true ? "1" : "")).assertRedirect("/home");
      return browser;
    }
    const entered = await this.enterPassword(browser, remember);
    if (entered.redirectsTo !== "/login/two_factor") {
      entered.assertRedirect("/home");
      return browser;
    }
    const page = await browser.follow(entered);
    const fields = { code: await this.code(), ...(options.trust === true && { trust_device: true }) };
    (await browser.submit(page, '[action="/login/two_factor"]', fields)).assertRedirect("/home");
    return browser;
  }

  /** Sets up an app, on the page of the account. */
  async addApp(): Promise<this> {
    const browser = await this.logIn();
    const page = await browser.get("/account/two_factor/app");
    this.#secret = secretOn(page);
    const done = await browser.submit(page, '[action="/account/two_factor/app"]', {
      code: authenticatorCode(this.#secret),
    });
    this.recoveryCodes = codesOn(done.assertStatus(201));
    return this;
  }

  /** Sets up an app, on the page on which a login waits for that. */
  async setUp(browser: RemoteBrowser, page: TestResponse): Promise<TestResponse> {
    this.#secret = secretOn(page);
    return browser.submit(page, '[action="/login/two_factor/setup"]', { code: authenticatorCode(this.#secret) });
  }

  /** Adds a passkey, on the page of the account. */
  async addPasskey(): Promise<this> {
    if (this.device !== null) return this;
    const browser = await this.logIn();
    this.device = new PasskeyDevice();
    const page = await browser.get("/account/passkeys");
    const credential = JSON.stringify(this.device.create(await optionsFor(browser, "/account/passkeys")));
    (await browser.submit(page, "#credential", { credential })).assertRedirect("/account/passkeys");
    return this;
  }

  /** Removes the password. */
  async forgetPassword(): Promise<void> {
    await this.change({ password: null });
    this.#canUsePassword = false;
  }

  async trustDevice(): Promise<void> {
    const browser = await this.logIn(this.visitor(), { trust: true });
    const home = await browser.get("/home");
    (await browser.submit(home, '[action="/logout"]')).assertRedirect("/login");
    this.trusted = browser;
  }

  /** Logs in with the passkey, on the login page that a browser has open. */
  async #submitAssertion(browser: RemoteBrowser, page: TestResponse, remember = ""): Promise<TestResponse> {
    const assertion = JSON.stringify(this.device!.get(await optionsFor(browser, "/login/passkey")));
    return browser.submit(page, "#assertion", { assertion, remember });
  }

  async passkeyLogin(browser: RemoteBrowser, page: TestResponse): Promise<TestResponse> {
    return this.#submitAssertion(browser, page);
  }

  /** Enters wrong codes until no more are checked. */
  async lockApp(): Promise<void> {
    const browser = this.visitor();
    const page = await browser.follow(await this.enterPassword(browser));
    for (let time = 0; time < 5; time++) await browser.submit(page, '[action="/login/two_factor"]', { code: "000000" });
  }

  /** Enters wrong passwords until no more are checked. */
  async useUpPasswords(): Promise<void> {
    const browser = this.visitor();
    const page = await browser.get("/login");
    for (let time = 0; time < 5; time++) {
      await browser.submit(page, '[action="/login"]', { email: this.email, password: "a wrong password" });
    }
  }

  /** As if the user had first logged in without a second factor some days ago. */
  async startGrace(days: number): Promise<void> {
    const row = {
      ...{ user_id: String(this.id), guard: "web", access_epoch: "lasting", kind: "two_factor_grace", counter: 0 },
      created_at: new Date(Date.now() - days * 86_400_000),
    };
    await this.shop.kysely.insertInto("authenticators").values(row).execute();
  }

  /** Ends all access, by the application's own route. */
  async endAccess(): Promise<void> {
    (await this.visitor().postJson(`/end/${this.id}`)).assertStatus(200);
  }

  /** As if its logins had been made, and proved, hours ago. */
  async ageLogins(): Promise<void> {
    const before = Date.now() - 4 * 3_600_000;
    const rows = await this.shop.kysely
      .selectFrom("logins")
      .selectAll()
      .where("user_id", "=", String(this.id))
      .execute();
    for (const row of rows) {
      const methods =
        row.methods === null
          ? null
          : JSON.parse(String(row.methods)).map(([by, , amr]: unknown[]) => [by, before, amr]);
      const changed = { authenticated_at: new Date(before), methods: methods && JSON.stringify(methods) };
      await this.shop.kysely.updateTable("logins").set(changed).where("id", "=", row.id).execute();
    }
    expect(rows.length).toBeGreaterThan(0);
  }
}
