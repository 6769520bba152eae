import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BrowserVisitor } from "./browser-visitor.ts";
import { PASSWORD, PlacedShop } from "./placed-shop.ts";
import { type ShopSource, shopSource } from "./shop-source.ts";
import {
  BROWSER_NAMES,
  BROWSERS,
  type BrowserName,
  FORMER_MARKS,
  PLACES,
  type RequestKind,
} from "./what-browsers-send.ts";

const BACKGROUND: readonly RequestKind[] = ["image", "fetch GET", "prefetch"];
const SPECULATION: readonly RequestKind[] = ["speculative prefetch", "prerender"];

let source: ShopSource;
beforeAll(async () => {
  source = await shopSource();
});
afterAll(() => source?.remove());

describe.each(Object.entries(PLACES))("S130 by %s, a login leads back to where the user was going", (_, origin) => {
  let shop: PlacedShop;
  beforeAll(async () => {
    shop = await PlacedShop.open(await source.copy(), origin);
  });
  afterAll(() => shop?.end());

  /** Loads what pages load by themselves, all of it behind the login. */
  async function loadInBackground(visitor: BrowserVisitor, browser: BrowserName): Promise<void> {
    const isMarked = BROWSERS[browser].marksPrefetch !== null;
    const kinds = [...BACKGROUND.filter((kind) => kind !== "prefetch" || isMarked)];
    if (BROWSERS[browser].speculates) kinds.push(...SPECULATION);
    for (const kind of kinds) await visitor.load(kind, `/orders?by=${kind.replaceAll(" ", "-")}`);
    await visitor.load("fetch GET", "/orders?by=poll", { headers: { accept: "application/json" } });
    for (const [header, value] of FORMER_MARKS) {
      const url = new URL(`/orders?by=${header}`, origin);
      await visitor.send({ kind: "typed URL", url, page: null }, { headers: { [header]: value } });
    }
  }

  const credentials = (email: string) => ({ "Email address": email, Password: PASSWORD });

  test.for(BROWSER_NAMES)("%s, regardless of other requests from the page", async (browser) => {
    const email = shop.newAddress();
    await shop.registered(browser, email);
    const visitor = await shop.visitor(browser).type("/account/email");
    expect(visitor.path).toBe("/login");
    await loadInBackground(visitor, browser);
    await visitor.press("Log in", credentials(email));
    expect(visitor.path).toBe("/account/email");
  });

  test.for(BROWSER_NAMES)("%s, after the login of an open page was ended elsewhere", async (browser) => {
    const email = shop.newAddress();
    const visitor = await shop.verified(browser, email);
    await visitor.type("/account/email");
    const phone = await shop.visitor(browser).type("/login");
    await phone.press("Log in", credentials(email));
    await phone.type("/logins");
    await phone.press("Log out all other devices");
    await loadInBackground(visitor, browser);
    await visitor.follow("/notes");
    expect(visitor.path).toBe("/login");
    await loadInBackground(visitor, browser);
    await visitor.press("Log in", credentials(email));
    expect(visitor.path).toBe("/notes");
  });

  test.for(BROWSER_NAMES)("%s, to the last page if there were several", async (browser) => {
    const email = shop.newAddress();
    await shop.registered(browser, email);
    const visitor = await shop.visitor(browser).type("/account/email");
    await visitor.follow("/logins", new URL("https://elsewhere.test/"));
    await visitor.press("Log in", credentials(email));
    expect(visitor.path).toBe("/logins");
  });

  test.for(BROWSER_NAMES)("%s, and prefetching the logout ends nothing", async (browser) => {
    const visitor = await shop.registered(browser);
    for (const kind of [...BACKGROUND, ...SPECULATION]) {
      expect((await visitor.load(kind, "/logout")).status).toBe(405);
    }
    expect((await visitor.type("/home")).path).toBe("/home");
  });
});
