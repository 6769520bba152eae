import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestClient } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

/** More tries than the owner needs. */
const TRIES = 10;

await onEachDatabase("S33 a thief with a copied cookie, who logs out all other devices again and again,", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());

  /** Presses the button on the page `/logins`, which also voids mailed links, and returns the status. */
  async function logOutOthers(client: TestClient): Promise<number> {
    const page = await client.get("/logins");
    // Without other logins, the page has no button.
    const token = page.text.match(/name="__token" value="([^"]+)"/)![1]!;
    return (await client.delete("/logins", { __token: token })).status;
  }

  test("can't keep the owner from setting a new password with a mailed link", async () => {
    const thief = await shop.loggedIn();
    const outcomes: boolean[] = [];
    const answers: number[] = [];
    while (outcomes.at(-1) !== true && outcomes.length < TRIES) {
      const link = await shop.resetLink(EMAIL);
      // Twice while the owner opens the mail.
      answers.push(await logOutOthers(thief), await logOutOthers(thief));
      outcomes.push(await shop.resetsPassword(link, NEW_PASSWORD));
    }
    expect(answers).toEqual([302, 302, 302, 302, 302, 429, 429, 429]);
    expect(outcomes).toEqual([false, false, false, true]);
    expect([await shop.isIn(thief), await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)]).toEqual([false, true]);
  });

  test("can't keep the owner from setting a new password while logged in", async () => {
    const thief = await shop.loggedIn();
    const fields = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    let hasChanged = false;
    for (let count = 0; count < TRIES && !hasChanged; count++) {
      const owner = await shop.loggedIn();
      const page = await owner.get("/account/password");
      await logOutOthers(thief);
      const { headers } = await owner.submit(page, '[action="/account/password"]', fields);
      hasChanged = headers.get("location") === "/home";
    }
    expect([hasChanged, await shop.isIn(thief)]).toEqual([true, false]);
  });
});
