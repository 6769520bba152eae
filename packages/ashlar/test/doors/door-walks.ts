import type { TestResponse } from "../../src/testing/index.ts";
import { optionsFor, PasskeyDevice } from "../support/passkey-device.ts";
import { type DoorAccount, NEW_PASSWORD, PASSWORD } from "./door-account.ts";
import type { RemoteBrowser } from "./remote-browser.ts";

/** A visitor in front of a door, and what the visitor does next. */
export interface Visit {
  readonly browser: RemoteBrowser;
  /** Tries the door, and returns the last response. */
  readonly go: () => Promise<TestResponse>;
}

/** How a row of the table is tried; the table says what the visitor does. */
export interface DoorWalk {
  /** Whether the visitor needs a passkey for it, which accounts in any state then have too. */
  readonly needsPasskey?: true;
  /** Whether it is prepared at the second process and tried at the first, because only the first one's mails are read. */
  readonly isMailed?: true;
  /** Reads what the door may change, for someone who isn't logged in too: the response alone doesn't say. */
  readonly watch?: (account: DoorAccount) => Promise<unknown>;
  /** Prepares everything up to the moment before, while the account isn't in its state yet. */
  readonly prepare: (account: DoorAccount) => Promise<Visit>;
}

/** The columns of the account that changes of it write, and the changes that wait for a link. */
async function watched({ id, shop }: DoorAccount): Promise<unknown> {
  const user = await shop.kysely.selectFrom("users").select(["email", "password"]).where("id", "=", id).execute();
  const changes = await shop.kysely
    .selectFrom("email_changes")
    .select("email")
    .where("user_id", "=", String(id))
    .execute();
  return [user, changes];
}

const CREDENTIALS = (account: DoorAccount) => ({ email: account.email, password: PASSWORD });
const CHOSEN = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

/** A visitor who isn't logged in: in the browser that the owner trusts, if there is one. */
function guest(account: DoorAccount): RemoteBrowser {
  return account.trusted ?? account.visitor();
}

/** Sends the fields of a form, which the page may no longer show. */
async function post(browser: RemoteBrowser, path: string, fields: Record<string, string>): Promise<TestResponse> {
  const { json } = await browser.getJson("/csrf");
  return browser.post(path, { __token: (json as { token: string }).token, ...fields });
}

/** Sends an author's route what a script of a page sends. */
function asScript(account: DoorAccount, path: string, fields: object = {}): Visit {
  const browser = guest(account);
  return { browser, go: () => browser.withCsrfToken().postJson(`${path}/${account.id}`, fields) };
}

/** A login of hours ago, with the page for something that wants a confirmation open. */
async function longLoggedIn(account: DoorAccount): Promise<RemoteBrowser> {
  const browser = await account.logIn(guest(account));
  await account.ageLogins();
  return browser;
}

interface Tokens {
  readonly data: string;
  readonly refresh: string;
}

/** The tokens of an app whose user has given everything that the account has. */
async function tokens(account: DoorAccount): Promise<Tokens> {
  const app = account.visitor();
  if (account.isPasskeyOnly) {
    const options = await app.postJson("/api/passkey/options");
    const { data } = options.assertStatus(200).json as { data: { options?: unknown } };
    const assertion = account.device!.get(data.options ?? data);
    return (await app.postJson("/api/passkey", { assertion })).assertStatus(200).json as Tokens;
  }
  const code = account.hasApp ? { code: await account.code() } : {};
  const sent = { username: account.email, password: PASSWORD, ...code };
  return (await app.postJson("/api/auth", sent)).assertStatus(200).json as Tokens;
}

/** Asks for a link that verifies the address, which may have been verified since. */
async function verificationLink(account: DoorAccount): Promise<string> {
  const browser = await account.logIn();
  const { shop } = account;
  const [row] = await shop.kysely.selectFrom("users").select("verified_at").where("id", "=", account.id).execute();
  await account.change({ verified_at: null });
  (await browser.withCsrfToken().postJson("/email/resend")).assertStatus(202);
  await account.change({ verified_at: row!.verified_at as Date | null });
  return shop.linkTo(account.email, /\/email\/verify\//);
}

/** A link, and what pressing the button of its page does. */
async function pressed(
  browser: RemoteBrowser,
  link: string,
  fields: Record<string, string> = {},
): Promise<TestResponse> {
  const page = await browser.get(link);
  if (page.status !== 200) return page;
  const form = page.forms.find(({ attributes }) => !/logout|login/.test(attributes.get("action") ?? ""));
  return form === undefined ? page : browser.submit(page, `[action="${form.attributes.get("action")}"]`, fields);
}

interface MailedLogin {
  readonly code: string;
  readonly link: string;
}

/** Asks on the page for a mail to log in with. */
async function askForLogin({ email, shop }: DoorAccount, browser: RemoteBrowser): Promise<MailedLogin> {
  const page = await browser.get("/login/mail");
  (await browser.submit(page, '[action="/login/mail"]', { email })).assertRedirect("/login/mail/code");
  return { link: await shop.linkTo(email, /\/login\/mail\/link\//), code: await shop.codeTo(email) };
}

/** Asks for a mail as an app does, and returns what the app then sends with the code. */
async function askAsApp({ email, shop }: DoorAccount, app: RemoteBrowser): Promise<Record<string, string>> {
  const { json } = (await app.postJson("/api/login-mail", { email })).assertStatus(202);
  return { ...(json as { data: { request: string } }).data, mailed_code: await shop.codeTo(email) };
}

/** Presses the button of the page behind a link that logs in. */
async function logInByLink(
  browser: RemoteBrowser,
  link: string,
  fields: Record<string, string> = {},
): Promise<TestResponse> {
  const page = await browser.get(link);
  return page.status === 200 ? browser.submit(page, `[action="${link}"]`, fields) : page;
}

/** Every way through the framework's doors, by the name of the row. */
export const WALKS: Readonly<Record<string, DoorWalk>> = {
  "login page": {
    async prepare(account) {
      const browser = guest(account);
      const page = await browser.get("/login");
      return { browser, go: () => browser.submit(page, '[action="/login"]', CREDENTIALS(account)) };
    },
  },
  "login by JSON": {
    async prepare(account) {
      const browser = guest(account).withCsrfToken();
      return { browser, go: () => browser.postJson("/login", CREDENTIALS(account)) };
    },
  },
  "page of the code": {
    async prepare(account) {
      const browser = account.visitor();
      await account.enterPassword(browser);
      const code = account.hasApp ? await account.code() : "000000";
      return { browser, go: () => post(browser, "/login/two_factor", { code }) };
    },
  },
  "page of the code, recovery code": {
    async prepare(account) {
      const browser = account.visitor();
      await account.enterPassword(browser);
      const code = account.recoveryCodes[0] ?? "aaaa-bbbb-cccc-dddd";
      return { browser, go: () => post(browser, "/login/two_factor", { recovery_code: code }) };
    },
  },
  "page of the setup": {
    async prepare(account) {
      const browser = guest(account);
      const go = async (): Promise<TestResponse> => {
        const page = await browser.follow(await account.enterPassword(browser));
        if (!page.text.includes('action="/login/two_factor/setup"')) {
          return post(browser, "/login/two_factor/setup", { code: "000000" });
        }
        return account.setUp(browser, page);
      };
      return { browser, go };
    },
  },
  "token endpoint": {
    async prepare(account) {
      const browser = account.visitor();
      return { browser, go: () => browser.postJson("/api/auth", { username: account.email, password: PASSWORD }) };
    },
  },
  "token endpoint, second request": {
    async prepare(account) {
      const browser = account.visitor();
      const first = await browser.postJson("/api/auth", { username: account.email, password: PASSWORD });
      const { pending } = first.json as { pending?: string };
      const code = account.hasApp ? await account.code() : "000000";
      const go = () => browser.withToken(pending ?? "pending_none").postJson("/api/auth", { code });
      return { browser, go };
    },
  },
  renewal: {
    async prepare(account) {
      const { refresh } = await tokens(account);
      const browser = account.visitor();
      return { browser, go: () => browser.postJson("/api/reauth", { token: refresh }) };
    },
  },
  passkey: {
    needsPasskey: true,
    async prepare(account) {
      const browser = guest(account);
      const page = await browser.get("/login");
      return { browser, go: () => account.passkeyLogin(browser, page) };
    },
  },
  "passkey at the token endpoint": {
    needsPasskey: true,
    async prepare(account) {
      const browser = account.visitor();
      const { data } = (await browser.postJson("/api/passkey/options")).json as { data: { options?: unknown } };
      const assertion = account.device!.get(data.options ?? data);
      return { browser, go: () => browser.postJson("/api/passkey", { assertion }) };
    },
  },
  "passkey for a new account": {
    isMailed: true,
    async prepare(account) {
      const browser = account.visitor();
      const page = await browser.get("/register/passkey");
      // At this time, the address is free.
      await account.change({ email: `away-${account.email}` });
      await browser.submit(page, '[action="/register/passkey"]', { name: "Ada", email: account.email });
      const link = await account.shop.linkTo(account.email, /\/register\/passkey\//);
      await account.change({ email: account.email });
      const go = async (): Promise<TestResponse> => {
        const finish = await browser.get(link);
        if (finish.status !== 200) return finish;
        const credential = new PasskeyDevice().create(await optionsFor(browser, link));
        return browser.submit(finish, "#credential", { credential: JSON.stringify(credential) });
      };
      return { browser, go };
    },
  },
  "code of a mail": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = guest(account);
      const { code } = await askForLogin(account, browser);
      return { browser, go: () => post(browser, "/login/mail/code", { mailed_code: code }) };
    },
  },
  "code of a mail, by JSON": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = guest(account);
      const { code } = await askForLogin(account, browser);
      return { browser, go: () => browser.withCsrfToken().postJson("/login/mail/code", { mailed_code: code }) };
    },
  },
  "code of a mail, then one of the app": {
    async prepare(account) {
      const browser = account.visitor();
      const { code: mailed } = await askForLogin(account, browser);
      await post(browser, "/login/mail/code", { mailed_code: mailed });
      const code = account.hasApp ? await account.code() : "000000";
      return { browser, go: () => post(browser, "/login/two_factor", { code }) };
    },
  },
  "link of a mail": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = guest(account);
      const { link } = await askForLogin(account, browser);
      return { browser, go: () => logInByLink(browser, link) };
    },
  },
  "link of a mail, in another browser": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const { code, link } = await askForLogin(account, account.visitor());
      const browser = guest(account);
      return { browser, go: () => logInByLink(browser, link, { mailed_code: code }) };
    },
  },
  "link of a mail, without its code": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const { link } = await askForLogin(account, account.visitor());
      const browser = guest(account);
      return { browser, go: () => logInByLink(browser, link) };
    },
  },
  "link of a mail to a new account": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = account.visitor();
      const page = await browser.get("/login/mail");
      // At this time, the address is free.
      await account.change({ email: `away-${account.email}` });
      await browser.submit(page, '[action="/login/mail"]', { email: account.email });
      const link = await account.shop.linkTo(account.email, /\/register\/mail\//);
      await account.change({ email: account.email });
      return { browser, go: () => pressed(browser, link, { name: "Ada" }) };
    },
  },
  "code of a mail at the token endpoint": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = account.visitor();
      const sent = await askAsApp(account, browser);
      return { browser, go: () => browser.postJson("/api/login-mail/token", sent) };
    },
  },
  "code of a mail at the token endpoint, second request": {
    async prepare(account) {
      const browser = account.visitor();
      const first = await browser.postJson("/api/login-mail/token", await askAsApp(account, browser));
      const { pending } = first.json as { pending?: string };
      const code = account.hasApp ? await account.code() : "000000";
      const go = () => browser.withToken(pending ?? "pending_none").postJson("/api/auth", { code });
      return { browser, go };
    },
  },
  "remembered cookie": {
    async prepare(account) {
      const browser = await account.logIn(guest(account), { remember: true });
      for (const { name, expiresAt } of browser.cookies.all) if (expiresAt === null) browser.cookies.delete(name);
      return { browser, go: () => browser.get("/home") };
    },
  },
  "another framework": {
    isMailed: true,
    async prepare(account) {
      const browser = await account.logIn(guest(account));
      return { browser, go: () => elsewhere(account, browser) };
    },
  },
  "another framework, API token": {
    isMailed: true,
    async prepare(account) {
      const { data } = await tokens(account);
      const browser = account.visitor().withToken(data);
      return { browser, go: () => elsewhere(account, browser) };
    },
  },
  registration: {
    async prepare(account) {
      const browser = guest(account);
      const page = await browser.get("/register");
      const fields = { name: "Ada", email: account.email, ...CHOSEN };
      return { browser, go: () => browser.submit(page, '[action="/register"]', fields) };
    },
  },
  "registration of someone who needs a factor": {
    async prepare(account) {
      const browser = guest(account);
      const page = await browser.get("/register");
      const fields = { name: "Needs one", email: `new-${account.email}`, ...CHOSEN };
      return { browser, go: () => browser.submit(page, '[action="/register"]', fields) };
    },
  },
  "verification link": {
    isMailed: true,
    async prepare(account) {
      const link = await verificationLink(account);
      const browser = guest(account);
      return { browser, go: () => pressed(browser, link) };
    },
  },
  "reset link": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = guest(account);
      return { browser, ...(await resetting(account, browser)) };
    },
  },
  "login after a reset": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const browser = guest(account);
      const { go: reset } = await resetting(account, browser);
      const go = async (): Promise<TestResponse> => {
        await reset();
        const page = await browser.get("/login");
        return browser.submit(page, '[action="/login"]', { email: account.email, password: NEW_PASSWORD });
      };
      return { browser, go };
    },
  },
  "undo link": {
    watch: watched,
    isMailed: true,
    async prepare(account) {
      const owner = await account.logIn();
      const email = `changed-${account.email}`;
      await askForChange(account, owner, email);
      await pressed(owner, await account.shop.linkTo(email, /\/email\/verify\//));
      account.login = email;
      const link = await account.shop.linkTo(account.email, /\/email\/undo\//);
      const browser = guest(account);
      return { browser, go: () => pressed(browser, link) };
    },
  },
  "auth.loginAs": {
    prepare: async (account) => asScript(account, "/become"),
  },
  "auth.attemptById": {
    prepare: async (account) => asScript(account, "/switch"),
  },
  "auth.enter": {
    prepare: async (account) => asScript(account, "/enter"),
  },
  confirmation: {
    async prepare(account) {
      const browser = await longLoggedIn(account);
      await browser.get("/fresh");
      return { browser, go: () => post(browser, "/confirm_password", { password: PASSWORD }) };
    },
  },
  "confirmation with a code": {
    async prepare(account) {
      const browser = await longLoggedIn(account);
      await browser.get("/fresh");
      const code = account.hasApp ? await account.code() : "000000";
      await post(browser, "/confirm_password", { password: PASSWORD });
      return { browser, go: () => post(browser, "/login/two_factor", { code }) };
    },
  },
  "confirmation with a passkey": {
    needsPasskey: true,
    async prepare(account) {
      const browser = await longLoggedIn(account);
      await browser.get("/fresh");
      const page = await browser.get("/confirm_passkey");
      const assertion = JSON.stringify(account.device!.get(await optionsFor(browser, "/confirm_passkey")));
      return { browser, go: () => browser.submit(page, "#assertion", { assertion }) };
    },
  },
  "confirmation with the code of a mail": {
    isMailed: true,
    async prepare(account) {
      const browser = await longLoggedIn(account);
      await browser.get("/fresh");
      // No code is mailed to an address that isn't verified.
      await post(browser, "/confirm_mail/send", {});
      const isSent = (await browser.get("/confirm_mail")).text.includes('name="mailed_code"');
      const code = isSent ? await account.shop.codeTo(account.email) : "WDJB-MJHT";
      return { browser, go: () => post(browser, "/confirm_mail", { mailed_code: code }) };
    },
  },
  "change of password": {
    watch: watched,
    async prepare(account) {
      const browser = await longLoggedIn(account);
      const own = account.isPasskeyOnly ? {} : { current_password: PASSWORD };
      return { browser, go: () => post(browser, "/account/password", { ...own, ...CHOSEN }) };
    },
  },
  "change of address": {
    watch: watched,
    async prepare(account) {
      const browser = await longLoggedIn(account);
      const own = account.isPasskeyOnly ? {} : { password: PASSWORD };
      return { browser, go: () => post(browser, "/account/email", { email: `other-${account.email}`, ...own }) };
    },
  },
  "personal token": {
    async prepare(account) {
      const browser = await account.logIn(guest(account));
      const page = await browser.get("/account/tokens");
      const fields = { name: "backup", "abilities[]": ["orders.read"] };
      const go = async (): Promise<TestResponse> =>
        page.status === 200
          ? browser.submit(page, '[action="/account/tokens"]', fields)
          : browser.get("/account/tokens");
      return { browser, go };
    },
  },
};

/** Asks for a link to another address, which a user with an app confirms with a code first. */
async function askForChange(account: DoorAccount, owner: RemoteBrowser, email: string): Promise<void> {
  for (let time = 0; time < 2; time++) {
    const form = await owner.get("/account/email");
    const fields = form.text.includes('name="password"') ? { password: PASSWORD } : {};
    const sent = await owner.submit(form, '[action="/account/email"]', { email, ...fields });
    if (sent.redirectsTo !== "/login/two_factor") return;
    await owner.submit(await owner.follow(sent), '[action="/login/two_factor"]', { code: await account.code() });
  }
}

async function resetting(
  account: DoorAccount,
  browser: RemoteBrowser,
): Promise<{ readonly go: () => Promise<TestResponse> }> {
  const page = await browser.get("/change_password");
  await browser.submit(page, '[action="/change_password"]', { email: account.email });
  const link = await account.shop.linkTo(account.email, /\/password_reset\?token=/);
  return { go: () => pressed(browser, link, CHOSEN) };
}

/** Opens a page of another framework, with what the visitor has. */
async function elsewhere({ shop }: DoorAccount, browser: RemoteBrowser): Promise<TestResponse> {
  const own = browser.process;
  browser.process = shop.host;
  const response = await browser.getJson("/somewhere");
  browser.process = own;
  return response;
}
