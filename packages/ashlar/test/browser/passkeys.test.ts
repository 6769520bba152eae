import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { authenticatorCode } from "../../src/testing/index.ts";
import { type BrowserShop, openBrowserShop } from "../support/browser-shop.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { ashlar } from "../support/command-line.ts";
import { edit } from "../support/generated-application.ts";
import { linkIn } from "../support/mail-server.ts";

/** The folder for screenshots of every page, for inspection; without it, none are taken. */
const PICTURES = process.env.ASHLAR_SCREENSHOTS;
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PASSWORD = "stones and mortar";

/** A new application with passkeys and two-factor authentication. */
const openShop = () =>
  openBrowserShop(async (root) => {
    expect((await ashlar(root, "auth", "--two-factor", "--passkeys")).errors).toBe("");
    await edit(root, "config/two-factor.ts", ["trustDays: null", "trustDays: 30"]);
  });

/** A browser's authenticator, controlled by its developer tools. */
class VirtualAuthenticator {
  readonly #tools: CDPSession;
  readonly #id: string;

  private constructor(tools: CDPSession, id: string) {
    this.#tools = tools;
    this.#id = id;
  }

  static async add(page: Page): Promise<VirtualAuthenticator> {
    const tools = await page.context().newCDPSession(page);
    await tools.send("WebAuthn.enable");
    const { authenticatorId } = await tools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        ctap2Version: "ctap2_1",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return new VirtualAuthenticator(tools, authenticatorId);
  }

  /** Whether its user can be verified, by a fingerprint or a PIN. */
  async verifies(isUserVerified: boolean): Promise<void> {
    await this.#tools.send("WebAuthn.setUserVerified", { authenticatorId: this.#id, isUserVerified });
  }

  /** Whether it answers by itself, as if its user touched it. */
  async answers(enabled: boolean): Promise<void> {
    await this.#tools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId: this.#id, enabled });
  }

  async passkeys() {
    return (await this.#tools.send("WebAuthn.getCredentials", { authenticatorId: this.#id })).credentials;
  }
}

inBrowser("passkeys, in a browser", () => {
  let browser: Browser;
  let shop: BrowserShop;
  beforeAll(async () => {
    [browser, shop] = await Promise.all([startBrowser(), openShop()]);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.close();
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    expect(shop.end()).toBe(null);
  });

  async function visitor(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(60_000);
    return context;
  }

  async function register(page: Page, name: string): Promise<void> {
    await page.goto(`${shop.url}/register`);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Email address").fill(`${name.toLowerCase()}@example.com`);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByLabel("Confirm password").fill(PASSWORD);
    await page.getByRole("main").getByRole("button", { name: "Register" }).click();
    await page.waitForURL(`${shop.url}/email/verify/notice`);
  }

  /** Opens the page of passkeys, which asks for the password after a registration. */
  async function openPasskeys(page: Page): Promise<void> {
    await page.goto(`${shop.url}/account/passkeys`);
    if (page.url().endsWith("/confirm_password")) {
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Confirm" }).click();
    }
    await page.waitForURL(`${shop.url}/account/passkeys`);
  }

  async function addPasskey(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("The passkey was added.").waitFor();
  }

  /** Sets up an authenticator app, whose secret the page shows. */
  async function setUpApp(page: Page): Promise<void> {
    await page.goto(`${shop.url}/account/two_factor/app`);
    // The passkey is a factor already, so it is asked for.
    await page.getByRole("button", { name: "Confirm with a passkey" }).click();
    await page.waitForURL(`${shop.url}/account/two_factor/app`);
    const secret = ((await page.locator("code.secret").textContent()) ?? "").replaceAll(" ", "");
    await page.getByLabel("Six-digit code").fill(authenticatorCode(secret));
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("link", { name: "Download as a text file" }).waitFor();
  }

  async function logInWithPassword(page: Page, name: string): Promise<void> {
    await page.goto(`${shop.url}/home`);
    await logOut(page);
    await page.getByLabel("Email address").fill(`${name}@example.com`);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
  }

  async function logOut(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(`${shop.url}/login`);
  }

  async function isOnHome(page: Page, name: string): Promise<void> {
    await page.waitForURL(`${shop.url}/home`);
    await page.getByRole("heading", { name: `Hello, ${name}` }).waitFor();
  }

  test("adds one, and logs in with it by autofill and by the button", async () => {
    const page = await (await visitor()).newPage();
    const authenticator = await VirtualAuthenticator.add(page);
    await register(page, "Ada");
    await openPasskeys(page);
    await addPasskey(page);
    await shop.mail.next("ada@example.com", /passkey was added/i);
    const [made] = await authenticator.passkeys();
    expect(made).toMatchObject({ rpId: "localhost", isResidentCredential: true, userName: "ada@example.com" });
    expect(Buffer.from(made!.userHandle!, "base64")).toHaveLength(32);
    // Without a touch, the page waits for one, and the button asks for another.
    await authenticator.answers(false);
    await logOut(page);
    const button = page.getByRole("button", { name: "Log in with a passkey" });
    await button.waitFor();
    expect(await page.getByLabel("Email address").getAttribute("autocomplete")).toBe("username webauthn");
    await authenticator.answers(true);
    await button.click();
    await isOnHome(page, "Ada");
    // Now the field offers it, and the authenticator is touched at once.
    await logOut(page);
    await isOnHome(page, "Ada");
    expect((await authenticator.passkeys())[0]!.signCount).toBeGreaterThan(made!.signCount);
  });

  test("S143 refuses a login without a fingerprint or PIN, and says so", async () => {
    const page = await (await visitor()).newPage();
    const authenticator = await VirtualAuthenticator.add(page);
    await register(page, "Grace");
    await openPasskeys(page);
    await addPasskey(page);
    await authenticator.verifies(false);
    await authenticator.answers(false);
    await logOut(page);
    await page.getByRole("button", { name: "Log in with a passkey" }).waitFor();
    await authenticator.answers(true);
    await page.getByRole("button", { name: "Log in with a passkey" }).click();
    await page.getByText("This passkey wasn't accepted.").waitFor();
    expect(page.url()).toBe(`${shop.url}/login`);
  });

  test("the authenticator learns of a passkey that was removed, and of the user's name", async () => {
    const page = await (await visitor()).newPage();
    const authenticator = await VirtualAuthenticator.add(page);
    await register(page, "Mary");
    await openPasskeys(page);
    await addPasskey(page);
    expect(await authenticator.passkeys()).toHaveLength(1);
    await page.getByText("Rename…").click();
    await page.getByRole("textbox", { name: "Name" }).fill("Old laptop");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Old laptop").waitFor();
    await page.getByText("Remove…").click();
    const signaled = page.waitForResponse(/\/account\/passkeys\/signals$/);
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("The passkey was removed.").waitFor();
    await signaled;
    await expect.poll(() => authenticator.passkeys()).toEqual([]);
    await shop.mail.next("mary@example.com", /passkey was removed/i);
  });

  test("makes an account with a passkey and no password, which confirms with it", async () => {
    const page = await (await visitor()).newPage();
    const authenticator = await VirtualAuthenticator.add(page);
    await page.goto(`${shop.url}/register`);
    await page.getByRole("link", { name: "Register with a passkey" }).click();
    await page.getByLabel("Name").fill("Hedy");
    await page.getByLabel("Email address").fill("hedy@example.com");
    await authenticator.answers(false);
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByText("We have sent a link to this address.").waitFor();
    const link = linkIn(await shop.mail.next("hedy@example.com", /create your account/i));
    expect(link.startsWith(`${shop.url}/register/passkey/`)).toBe(true);
    await page.goto(link);
    await authenticator.answers(true);
    await page.getByRole("button", { name: "Create your passkey" }).click();
    await isOnHome(page, "Hedy");
    await logOut(page);
    await isOnHome(page, "Hedy");
    await page.goto(`${shop.url}/confirm_passkey`);
    expect(await page.getByRole("link", { name: "Confirm your password" }).count()).toBe(0);
    await page.getByRole("button", { name: "Confirm with a passkey" }).click();
    await isOnHome(page, "Hedy");
  });

  test("passes the second step with a passkey, and the device is trusted", async () => {
    const page = await (await visitor()).newPage();
    const authenticator = await VirtualAuthenticator.add(page);
    await register(page, "Margaret");
    await openPasskeys(page);
    await addPasskey(page);
    await setUpApp(page);
    await authenticator.answers(false);
    await logInWithPassword(page, "margaret");
    await page.waitForURL(`${shop.url}/login/two_factor`);
    expect(await page.getByLabel("Six-digit code").isVisible()).toBe(true);
    await page.getByLabel("Don't ask on this device").check();
    await authenticator.answers(true);
    await page.getByRole("button", { name: "Confirm with a passkey" }).click();
    await isOnHome(page, "Margaret");
    await authenticator.answers(false);
    await logInWithPassword(page, "margaret");
    await isOnHome(page, "Margaret");
  });

  test("a page of another origin can't use it", async () => {
    const page = await (await visitor()).newPage();
    await VirtualAuthenticator.add(page);
    await register(page, "Joan");
    await openPasskeys(page);
    await addPasskey(page);
    await page.goto(shop.url.replace("localhost", "127.0.0.1"));
    expect(new URL(page.url()).hostname).toBe("127.0.0.1");
    const outcome = await page.evaluate(`
      navigator.credentials.get({ publicKey: { challenge: new Uint8Array(32), rpId: "localhost" } })
        .then(() => "used", ({ name }) => name)`);
    expect(outcome).toBe("SecurityError");
  });

  test("without scripts, the pages offer the other ways", async () => {
    const page = await (await visitor({ javaScriptEnabled: false })).newPage();
    await page.goto(`${shop.url}/login`);
    expect(await page.getByRole("button", { name: "Log in with a passkey" }).isVisible()).toBe(false);
    expect(await page.getByLabel("Password", { exact: true }).isVisible()).toBe(true);
    await register(page, "Edith");
    await openPasskeys(page);
    expect(await page.getByText("This browser can't use passkeys").isVisible()).toBe(true);
    expect(await page.getByRole("button", { name: "Add a passkey" }).isVisible()).toBe(false);
  });

  test.for([
    ["phone", { width: 390, height: 780 }],
    ["desktop", { width: 1120, height: 700 }],
  ] as const)("the pages can be used by everyone: %s", async ([size, viewport]) => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await (await visitor({ viewport, colorScheme })).newPage();
      const authenticator = await VirtualAuthenticator.add(page);
      await authenticator.answers(false);
      const look = async (name: string): Promise<void> => {
        await page.evaluate(AXE);
        const { violations } = (await page.evaluate("axe.run()")) as { violations: readonly object[] };
        expect(violations).toEqual([]);
        if (PICTURES === undefined) return;
        await mkdir(PICTURES, { recursive: true });
        await page.screenshot({ path: join(PICTURES, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      };
      await page.goto(`${shop.url}/login`);
      await page.getByRole("button", { name: "Log in with a passkey" }).waitFor();
      await look("login");
      await page.goto(`${shop.url}/register/passkey`);
      await look("register-passkey");
      await page.getByLabel("Name").fill("Ida");
      await page.getByLabel("Email address").fill(`ida-${size}-${colorScheme}@example.com`);
      await page.getByRole("button", { name: "Send link" }).click();
      await page.goto(linkIn(await shop.mail.next(`ida-${size}-${colorScheme}@example.com`, /create your account/i)));
      await page.getByRole("button", { name: "Create your passkey" }).waitFor();
      await look("finish-passkey");
      await register(page, `Ruth${size}${colorScheme}`);
      await openPasskeys(page);
      await look("passkeys-none");
      await authenticator.answers(true);
      await addPasskey(page);
      await look("passkeys");
      await page.getByText("Rename…").click();
      await look("passkeys-rename");
      await page.goto(`${shop.url}/confirm_passkey`);
      await page.getByRole("button", { name: "Confirm with a passkey" }).waitFor();
      await look("confirm-passkey");
      await page.goto(`${shop.url}/home`);
      await look("home");
      await setUpApp(page);
      await look("recovery-codes");
      await page.goto(`${shop.url}/account/two_factor`);
      await look("two-factor");
      await page.goto(`${shop.url}/account/security`);
      await look("security");
      await authenticator.answers(false);
      await logInWithPassword(page, `ruth${size}${colorScheme}`);
      await page.waitForURL(`${shop.url}/login/two_factor`);
      await look("two-factor-step");
      await page.getByText("Lost your device?").click();
      await look("two-factor-recovery");
    }
  });
});
