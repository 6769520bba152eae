import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type TestClient, travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

/** Presses the button on the page `/logins` that ends all other logins. */
async function logOutOthers(client: TestClient): Promise<void> {
  const page = await client.get("/logins");
  const answer = await client.submit(page, '[action="/logins"]', {});
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "/logins"]);
}

await onEachDatabase("S136 every copy of a device's cookie is dead", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());
  afterEach(travelBack);

  /** A client with a copy of another one's current cookies. */
  function copyOf(client: TestClient): TestClient {
    const copy = shop.visitor();
    for (const { name, value, path } of client.cookies.all) copy.cookies.set(name, decodeURIComponent(value), { path });
    return copy;
  }

  /** Opens the vault, which needs a password that was confirmed within the last minute. */
  async function opensVault(client: TestClient): Promise<boolean> {
    return (await client.get("/vault")).status === 200;
  }

  test("after its user has logged out all other devices, this device's own cookie included", async () => {
    const owner = await shop.loggedIn();
    await shop.loggedIn();
    const copy = copyOf(owner);
    await logOutOthers(owner);
    const later = copyOf(owner);
    for (let time = 0; time < 3; time++) expect([await shop.isIn(copy), await shop.isIn(owner)]).toEqual([false, true]);
    // The device now has an ordinary login.
    expect(await shop.isIn(later)).toBe(true);
  });

  test("if the copy was made before a confirmation that gave the device a new token", async () => {
    const owner = await shop.loggedIn();
    await shop.loggedIn();
    const copies = [copyOf(owner)];
    await shop.send(owner, "/confirm_password", { password: PASSWORD });
    copies.push(copyOf(owner));
    await logOutOthers(owner);
    for (const copy of copies) expect(await shop.isIn(copy)).toBe(false);
    expect([await shop.isIn(owner), await opensVault(owner)]).toEqual([true, true]);
  });

  test("so a polling copy no longer takes over the owner's confirmation", async () => {
    const owner = await shop.loggedIn();
    await shop.loggedIn();
    const copy = copyOf(owner);
    await logOutOthers(owner);
    await shop.send(owner, "/confirm_password", { password: PASSWORD });
    for (let time = 0; time < 3; time++) {
      expect([await shop.isIn(copy), await opensVault(owner)]).toEqual([false, true]);
    }
  });

  test("without the button counting as a password proof, since it doesn't ask for the password", async () => {
    const owner = await shop.loggedIn();
    await shop.loggedIn();
    expect(await opensVault(owner)).toBe(true);
    // The password was confirmed too long ago.
    travel(2);
    expect(await opensVault(owner)).toBe(false);
    await logOutOthers(owner);
    expect([await shop.isIn(owner), await opensVault(owner)]).toEqual([true, false]);
  });

  test("after a new password, and after a new address, by which all other logins end", async () => {
    const owner = await shop.loggedIn();
    const first = copyOf(owner);
    const fields = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await shop.send(owner, "/account/password", fields)).headers.get("location")).toBe("/home");
    const second = copyOf(owner);
    await shop.send(owner, "/account/email", { email: "countess@example.com", password: NEW_PASSWORD });
    const third = copyOf(owner);
    await owner.get(await shop.linkTo("countess@example.com"));
    expect((await shop.user())?.email).toBe("countess@example.com");
    for (const copy of [first, second, third]) expect(await shop.isIn(copy)).toBe(false);
    expect(await shop.isIn(owner)).toBe(true);
    expect(await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)).toBe(false);
  });

  test("even if the copy requests it at the same moment, because only one of the two continues", async () => {
    const owner = await shop.loggedIn();
    await shop.loggedIn();
    const copy = copyOf(owner);
    const clients = [owner, copy];
    const pages = await Promise.all(clients.map((client) => client.get("/logins")));
    await Promise.all(clients.map((client, n) => client.submit(pages[n]!, '[action="/logins"]', {})));
    const logins = await Promise.all(clients.map((client) => shop.isIn(client)));
    expect(logins.filter((isIn) => isIn)).toHaveLength(1);
  });
});
