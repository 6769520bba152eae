import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FormEntry } from "../../src/testing/html/form-filling.ts";
import { fillForm, visibleForms } from "../support/page-form.ts";
import type { BrowserVisitor } from "./browser-visitor.ts";
import { MAILBOX, PASSWORD, PlacedShop } from "./placed-shop.ts";
import { type ShopSource, shopSource } from "./shop-source.ts";
import {
  BROWSER_NAMES,
  type BrowserName,
  type CausedRequest,
  headersOf,
  PLACES,
  type ReferrerPolicy,
  type RequestKind,
} from "./what-browsers-send.ts";

const GUESTS = ["/login", "/register", "/change_password"];
const USERS = ["/home", "/email/verify/notice", "/account/password", "/account/email", "/confirm_password", "/logins"];

/** A form as another site could copy it. */
interface CopiedForm {
  readonly action: string;
  readonly entries: readonly FormEntry[];
}

/** Copies the forms of a page, with what an attacker would enter. */
function copyForms(html: string): CopiedForm[] {
  return visibleForms(html).map((form) => {
    const filling = [...form.labels].flatMap(([label, { kind, attributes }]) => {
      const type = attributes.get("type");
      if (kind !== "text") return [];
      return [[label, type === "password" ? PASSWORD : type === "email" ? "mallory@example.com" : "Mallory"]];
    });
    return fillForm(form, Object.fromEntries(filling));
  });
}

function withToken({ entries }: CopiedForm, token: string): FormEntry[] {
  return [...entries.filter(([name]) => name !== "__token"), ["__token", token]];
}

function tokenOn(html: string): string {
  return /name="__token" value="([^"]+)"/.exec(html)?.[1] ?? "";
}

/** A request of another site's page, or of another host's of the same site, as one of the browsers sends it. */
interface ForeignRequest {
  readonly browser: BrowserName;
  readonly caused: CausedRequest;
}

const FOREIGN: readonly (readonly [RequestKind, readonly ReferrerPolicy[]])[] = [
  ["form", ["strict-origin-when-cross-origin", "no-referrer", "same-origin"]],
  ["form in a sandboxed frame", ["strict-origin-when-cross-origin"]],
  ["fetch POST", ["strict-origin-when-cross-origin"]],
  ["fetch POST without CORS", ["strict-origin-when-cross-origin", "no-referrer"]],
];

/** The ways in which browsers send what is not the application's own, each once if they agree. */
function foreignRequests(url: URL): ForeignRequest[] {
  const pages = ["https://elsewhere.test/page", `${url.protocol}//other.${url.host}/page`];
  const all = BROWSER_NAMES.flatMap((browser) =>
    pages.flatMap((page) =>
      FOREIGN.flatMap(([kind, policies]) =>
        policies.map((policy) => ({ browser, caused: { kind, url, page: new URL(page), policy } })),
      ),
    ),
  );
  return [...new Map(all.map((one) => [whatIsSaid(one), one])).values()];
}

function whatIsSaid({ browser, caused }: ForeignRequest): string {
  const { accept: _, ...rest } = headersOf(browser, caused);
  return JSON.stringify(rest);
}

/** Whether the browser says itself that the request is not the application's own. */
function saysSo({ browser, caused }: ForeignRequest): boolean {
  const { origin, "sec-fetch-site": site } = headersOf(browser, caused);
  return site === "cross-site" || site === "same-site" || (origin !== undefined && origin !== "null");
}

let source: ShopSource;
beforeAll(async () => {
  source = await shopSource();
});
afterAll(() => source?.remove());

describe.each(Object.entries(PLACES))("S130 an application by %s", (_, origin) => {
  let shop: PlacedShop;
  beforeAll(async () => {
    shop = await PlacedShop.open(await source.copy(), origin);
  });
  afterAll(() => shop?.end());

  /** Every form that a visitor sees on these pages. */
  async function formsOn(visitor: BrowserVisitor, paths: readonly string[]): Promise<CopiedForm[]> {
    const forms = new Map<string, CopiedForm>();
    for (const path of paths) {
      await visitor.type(path);
      for (const form of copyForms(visitor.page.text)) {
        const method = form.entries.find(([name]) => name === "__method")?.[1];
        forms.set(`${method} ${form.action}`, form);
      }
    }
    return [...forms.values()];
  }

  /** Sends a form from everywhere else, each time from an address that has done nothing yet. */
  async function sendFromElsewhere(
    visitor: BrowserVisitor,
    { action, entries }: CopiedForm,
    choose: (request: ForeignRequest) => boolean = () => true,
  ): Promise<void> {
    for (const one of foreignRequests(new URL(action, origin)).filter(choose)) {
      const headers = { "x-forwarded-for": shop.newNetwork() };
      const { status } = await visitor.send(one.caused, { entries, headers }, one.browser);
      // What only the token gives away counts as an attempt, and the account's limit may refuse the next one first.
      expect(saysSo(one) ? [419] : [419, 429], `${action}: ${whatIsSaid(one)}`).toContain(status);
    }
  }

  test("refuses requests that another site makes a browser send", async () => {
    const email = shop.newAddress();
    const visitor = await shop.registered("Chromium", email);
    const guest = await shop.visitor("Chromium").type("/login");
    await (await shop.visitor("Chromium").type("/login")).press("Log in", {
      "Email address": email,
      Password: PASSWORD,
    });
    const attackers = await shop.visitor("Chromium").type("/login");
    const token = tokenOn(attackers.page.text);
    const [guests, users] = [await formsOn(guest, GUESTS), await formsOn(visitor, USERS)];
    expect([guests.length, users.length]).toEqual([3, 8]);
    for (const form of guests) await sendFromElsewhere(guest, { ...form, entries: withToken(form, token) });
    for (const form of users) await sendFromElsewhere(visitor, { ...form, entries: withToken(form, token) });
    await visitor.type("/home");
    expect([visitor.path, visitor.page.text.includes("Hello, Ada")]).toEqual(["/home", true]);
    expect((await guest.type("/home")).path).toBe("/login");
    expect((await guest.press("Log in", { "Email address": email, Password: PASSWORD })).path).toBe("/home");
  });

  test("refuses requests that a browser marks as another site's, even with the visitor's own token", async () => {
    const email = shop.newAddress();
    const visitor = await shop.registered("Chromium", email);
    for (const form of await formsOn(visitor, USERS)) await sendFromElsewhere(visitor, form, saysSo);
    const guest = await shop.visitor("Chromium").type("/change_password");
    await guest.press("Send link", { "Email address": email });
    await guest.follow(await shop.mailed(email, "/password_reset"), MAILBOX);
    for (const form of copyForms(guest.page.text)) await sendFromElsewhere(guest, form, saysSo);
    expect((await guest.reload()).page.text).toContain("Set password");
    expect((await visitor.type("/home")).path).toBe("/home");
  });
});
