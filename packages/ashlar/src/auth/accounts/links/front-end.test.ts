import { describe, expect, test } from "vitest";
import { ADA, testAccounts } from "../../../../test/support/account-application.ts";

const FRONT_END = "https://app.shop.example";
const TRUSTED = { TRUSTED_ORIGINS: FRONT_END };

async function started(frontEndUrl: unknown, environment: Record<string, string> = TRUSTED) {
  return testAccounts({ ACCOUNTS: { frontEndUrl }, environment });
}

describe("S108 links in mails lead to the front end", () => {
  test.each([
    [FRONT_END, FRONT_END],
    [`${FRONT_END}/`, FRONT_END],
    [`${FRONT_END}/shop/`, `${FRONT_END}/shop`],
    ["https://shop.example", "https://shop.example"],
    ["https://shop.example/app", "https://shop.example/app"],
  ])("S108 at %s", async (url, base) => {
    const accounts = await started(url);
    await accounts.visitor().post("/change_password", { email: ADA.email });
    const [mail] = await accounts.mails();
    expect(mail!.text).toContain(`${base}/password_reset?token=`);
    const { pages } = accounts.application.container.make("accounts");
    expect(pages.url("web", "email.verify", { token: "x" })).toBe(`${base}/email/verify/x`);
    expect(pages.urlIfAny("web", "change_password")).toBe(`${base}/change_password`);
  });

  test("S108 and to the application if there isn't one", async () => {
    for (const none of [undefined, ""]) {
      const { application } = await started(none);
      const { pages } = application.container.make("accounts");
      expect(pages.url("web", "email.undo", { token: "x" })).toBe("https://shop.example/email/undo/x");
    }
  });

  test("S108 of the guard that they concern", async () => {
    const { application } = await started({ web: FRONT_END, admin: "https://shop.example/admin" });
    const { pages } = application.container.make("accounts");
    expect(pages.url("web", "password_reset", {}, { token: "x" })).toBe(`${FRONT_END}/password_reset?token=x`);
    expect(pages.url("admin", "password_reset", {}, { token: "x" })).toBe(
      "https://shop.example/admin/password_reset?token=x",
    );
  });

  test("S108 a page that the application leaves out has no address there either", async () => {
    const accounts = await testAccounts({
      ACCOUNTS: { frontEndUrl: FRONT_END },
      environment: TRUSTED,
      leftOut: { requestPasswordReset: false },
    });
    const { pages } = accounts.application.container.make("accounts");
    expect(pages.urlIfAny("web", "change_password")).toBeNull();
    expect(() => pages.url("web", "change_password", {})).toThrow("change_password");
  });
});

describe("S108 an address that cannot be trusted fails startup", () => {
  test.each([
    "https://evil.example",
    "http://app.shop.example",
    "https://app.shop.example:8443",
    "https://app.shop.example.evil.example/",
  ])("S108 because its origin is not listed: %s", async (url) => {
    await expect(started(url)).rejects.toThrow(
      `config/auth.ts: ACCOUNTS.frontEndUrl: is ${url.replace(/\/$/, "")}, whose origin is neither that of APP_URL nor in APP.trustedOrigins`,
    );
    await expect(started({ web: FRONT_END, admin: url })).rejects.toThrow("ACCOUNTS.frontEndUrl");
  });

  test.each([
    "app.shop.example",
    "ftp://app.shop.example",
    "https://ada@app.shop.example",
    `${FRONT_END}?a=1`,
    `${FRONT_END}/#/`,
    "javascript:alert(1)",
    7,
    [FRONT_END],
    { web: "x" },
  ])("S108 because it is not the address of a page: %j", async (url) => {
    await expect(started(url)).rejects.toThrow("config/auth.ts: ACCOUNTS.frontEndUrl");
  });
});
