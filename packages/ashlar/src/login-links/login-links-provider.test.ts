import { describe, expect, test } from "vitest";
import { PlainUser, type TestAccountsOptions, testAccounts } from "../../test/support/account-application.ts";
import { MailProvider } from "../mail/index.ts";
import { ThrottleProvider } from "../throttle/index.ts";
import { LoginLinks, LoginLinksProvider } from "./index.ts";
import { readLoginLinksSettings } from "./settings.ts";

class Links {
  request() {}
  store() {}
  link() {}
  follow() {}
  send() {}
  confirm() {}
}

const LINKS = {
  providers: [LoginLinksProvider],
  routes: [...LoginLinks.routes({ login: Links }, { json: true })],
} satisfies TestAccountsOptions;

describe("startup fails", () => {
  test.each<[string, TestAccountsOptions, RegExp]>([
    ["without limits", { without: [ThrottleProvider] }, /Add ThrottleProvider/],
    ["without mails", { without: [MailProvider] }, /Add MailProvider/],
    [
      "if a link could be used twice",
      { throttle: { "login_links.use": { buckets: [{ by: ["account"], attempts: 2, windowSeconds: 1200 }] } } },
      /"login_links\.use" lets a link be used more than once/,
    ],
    [
      "if a link could be used again after a while",
      { throttle: { "login_links.use": { buckets: [{ by: ["account"], attempts: 1, windowSeconds: 60 }] } } },
      /"login_links\.use" lets a link be used more than once/,
    ],
    [
      "S146 if users don't know whether their address is verified",
      { User: PlainUser },
      /Add the mixin MustVerifyEmail/,
    ],
    [
      "if newcomers get a link without a page",
      { config: { "login-links": { LOGIN_LINKS: { registers: true } } } },
      /no route is named "login_links\.register"/,
    ],
    [
      "with an unknown setting",
      { config: { "login-links": { LOGIN_LINKS: { registersAll: true } } } },
      /LOGIN_LINKS.*registersAll/s,
    ],
  ])("%s", async (_, options, problem) => {
    await expect(testAccounts({ ...LINKS, ...options })).rejects.toThrow(problem);
  });
});

test("without settings, addresses without an account get no mail", () => {
  expect(readLoginLinksSettings(undefined)).toEqual({ registers: false });
  expect(readLoginLinksSettings({ registers: true })).toEqual({ registers: true });
  expect(() => readLoginLinksSettings({ registers: "yes" })).toThrow(/registers/);
});
