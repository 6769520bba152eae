import { describe, expect, onTestFinished, test } from "vitest";
import { AdminUser, NEW_PASSWORD, PASSWORD, testAccounts } from "../../../../test/support/account-application.ts";
import { CLEO, isIn, storeShop } from "../../../../test/support/store-shop.ts";
import { travel, travelBack } from "../../../testing/index.ts";
import { requireBlockable } from "./account-blocks.ts";

const DETAILS = { by: "ops@host", reason: null, address: null };

describe("blocking accounts in an application's own store", () => {
  test("S190 ends all access, which stays ended when it is unblocked", async () => {
    const { accounts, cleo } = await storeShop();
    const visitor = await cleo();
    const token = await accounts.resetToken(CLEO);
    const { blocks, users } = accounts.application.container.make("accounts");
    const stored = async () => (await users.of("web").findByEmail(CLEO.email))!;
    expect(await blocks.block("web", await stored(), DETAILS)).toBe(true);
    expect([(await stored()).isBlocked?.(), await isIn(visitor)]).toEqual([true, false]);
    const reset = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", reset);
    await expect(accounts.loggedIn(CLEO, NEW_PASSWORD)).rejects.toThrow("The login failed.");
    await expect(accounts.loggedIn(CLEO)).rejects.toThrow("The login failed.");
    expect(await blocks.unblock("web", await stored(), DETAILS)).toBe(true);
    expect(await isIn(visitor)).toBe(false);
    await accounts.visitor().post("/password_reset", reset);
    await accounts.loggedIn(CLEO, PASSWORD);
  });

  test("S204 blocks an account that another operator has unblocked in the meantime, and keeps the time of one that is already blocked", async () => {
    const { accounts, cleo, rows } = await storeShop();
    await cleo();
    const { blocks, users } = accounts.application.container.make("accounts");
    const stored = async () => (await users.of("web").findByEmail(CLEO.email))!;
    const open = await stored();
    expect(await blocks.block("web", open, DETAILS)).toBe(true);
    const blocked = await stored();
    const [before] = structuredClone(rows());
    travel(1);
    onTestFinished(travelBack);
    expect(await blocks.block("web", open, DETAILS)).toBe(true);
    const { access_epoch: _, accessEpoch: __, ...after } = rows()[0] as Record<string, unknown>;
    expect(before).toMatchObject(after);
    await blocks.unblock("web", blocked, DETAILS);
    expect(await blocks.block("web", blocked, DETAILS)).toBe(true);
    expect((await stored()).isBlocked?.()).toBe(true);
  });
});

describe("an account that can't be blocked", () => {
  test("is reported with the column that its table lacks and how to add it", async () => {
    const accounts = await testAccounts();
    const user = (await accounts.user(1))! as never;
    await expect(requireBlockable(user)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringMatching(/^The table users has no column blocked_at, .+npx ashlar auth --migrations/),
    });
  });

  test("is reported if its class has no column or method for it", async () => {
    class Never extends AdminUser {
      static override blockedColumn = null;
    }
    await expect(requireBlockable(new Never() as never)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining("Never.blockedColumn is null"),
    });
    class Plain {}
    await expect(requireBlockable(new Plain() as never)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining("Give it a method isBlocked()"),
    });
  });
});
