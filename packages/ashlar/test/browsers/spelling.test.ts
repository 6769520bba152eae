import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlacedShop } from "./placed-shop.ts";
import { type ShopSource, shopSource } from "./shop-source.ts";
import { BROWSER_NAMES } from "./what-browsers-send.ts";

/** As a keyboard enters it, and as a file or another keyboard does. */
const PASSWORD = "Stürme und Mörtel".normalize("NFC");
const DECOMPOSED = PASSWORD.normalize("NFD");

let source: ShopSource;
let shop: PlacedShop;
beforeAll(async () => {
  source = await shopSource();
  shop = await PlacedShop.open(await source.copy(), "https://shop.example");
});
afterAll(async () => {
  await shop?.end();
  await source?.remove();
});

describe("S132 an account of an address with a domain in Unicode", () => {
  test.for(BROWSER_NAMES)(
    "that was registered in %s can log in with every browser, in each spelling",
    async (first) => {
      const typed = shop.newAddress().replace("example.com", "bücher.example");
      const visitor = await shop.registered(first, typed, PASSWORD);
      expect(visitor.path).toBe("/email/verify/notice");
      for (const browser of BROWSER_NAMES) {
        for (const [email, password] of [
          [typed, DECOMPOSED],
          [typed.replace("bücher", "xn--bcher-kva"), PASSWORD],
        ] as const) {
          const other = await shop.visitor(browser).type("/login");
          await other.press("Log in", { "Email address": email, Password: password });
          expect([browser, email, other.path]).toEqual([browser, email, "/home"]);
        }
      }
    },
  );

  test("can't be registered again by another browser", async () => {
    const typed = shop.newAddress().replace("example.com", "bücher.example");
    for (const browser of BROWSER_NAMES) {
      const { path, page } = await shop.registered(browser, typed);
      expect([browser, path]).toEqual([browser, browser === BROWSER_NAMES[0] ? "/email/verify/notice" : "/register"]);
      expect(page.text.includes("This email address is already in use.")).toBe(path === "/register");
    }
  });
});
