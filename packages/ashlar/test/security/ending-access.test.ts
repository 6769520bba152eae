import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

/** A kind of access that an attacker has before the event; returns whether it still works afterwards. */
type OpenDoor = () => Promise<boolean>;

interface Door {
  /** Gains the access before the event. The account has the given address, and the password {@link PASSWORD}. */
  readonly open: (shop: AccountShop, email: string) => Promise<OpenDoor>;
}

interface Event {
  /** Prepares the event before access is gained; returns the account's address at that point. */
  readonly before?: (shop: AccountShop) => Promise<string>;
  readonly happen: (shop: AccountShop) => Promise<unknown>;
  /** The kinds of access that still work afterwards. */
  readonly survivors: readonly string[];
}

const TAKEN_OVER = "thief@example.org";

const DOORS: Readonly<Record<string, Door>> = {
  "login with the password": {
    open: async (shop, email) => () => shop.logsIn(shop.visitor(), email, PASSWORD),
  },
  "session cookie": {
    open: async (shop, email) => {
      const client = await shop.loggedIn(email);
      return () => shop.isIn(client);
    },
  },
  "remembered cookie": {
    open: async (shop, email) => {
      const client = await shop.loggedIn(email, PASSWORD, { remember: true });
      return () => shop.isIn(client);
    },
  },
  "API token": {
    open: async (shop, email) => {
      const client = shop.visitor();
      const answer = await client.postJson("/api/auth", { username: email, password: PASSWORD });
      const headers = { authorization: `Bearer ${(answer.json as { data: string }).data}` };
      return async () => (await client.getJson("/api/me", { headers })).status === 200;
    },
  },
  "renewal of an API token": {
    open: async (shop, email) => {
      const client = shop.visitor();
      const { json } = await client.postJson("/api/auth", { username: email, password: PASSWORD });
      const { data: token } = json as { data: string };
      return async () => (await client.postJson("/api/reauth", { token })).status === 200;
    },
  },
  "reset link": {
    open: async (shop, email) => {
      const link = await shop.resetLink(email);
      return () => shop.resetsPassword(link, "a password of the thief");
    },
  },
  "verification link": {
    open: async (shop, email) => {
      await shop.User.where("email", email).update({ verified_at: null });
      const client = await shop.loggedIn(email);
      await shop.send(client, "/email/verify/notice", {}, '[action="/email/resend"]');
      const link = await shop.linkTo(email);
      return async () => {
        await shop.User.rows().update({ verified_at: null });
        await shop.verify(link);
        return (await shop.user())?.hasVerifiedEmail() === true;
      };
    },
  },
  "change-of-address link": {
    open: async (shop, email) => {
      const link = await shop.changeLink(await shop.loggedIn(email), "another@example.org");
      return async () => {
        await shop.verify(link);
        return (await shop.user())?.email === "another@example.org";
      };
    },
  },
  "password confirmation": {
    open: async (shop, email) => {
      const client = await shop.loggedIn(email);
      (await client.get("/vault")).assertStatus(200);
      return async () => (await client.get("/vault")).status === 200;
    },
  },
  "undo link of an earlier change": {
    open: async (shop, email) => {
      const link = await shop.changeLink(await shop.loggedIn(email), "later@example.org");
      await shop.verify(link);
      const undo = await shop.linkTo(email);
      // The event applies to the account in the state that gaining the other kinds of access leaves it in.
      await shop.User.rows().update({ email });
      return async () => (await shop.undo(undo)).headers.get("location")?.startsWith("/password_reset?") === true;
    },
  },
};

const UNDO = "undo link of an earlier change";
const LOGIN = "login with the password";

/** The owner's own browser, in the state that the event needs. */
async function passwordChanged(shop: AccountShop): Promise<void> {
  const owner = await shop.loggedIn();
  const fields = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  (await shop.send(owner, "/account/password", fields)).assertRedirect("/home");
  expect(await shop.isIn(owner)).toBe(true);
}

const OPERATOR = { by: "ops", reason: null, address: null };

async function block(shop: AccountShop): Promise<void> {
  const { blocks } = shop.application.container.make("accounts");
  expect(await blocks.block("web", (await shop.user())!, OPERATOR)).toBe(true);
}

const EVENTS: Readonly<Record<string, Event>> = {
  "nothing happened": { happen: async () => {}, survivors: Object.keys(DOORS) },
  "the password was changed": { happen: passwordChanged, survivors: [UNDO] },
  "the password was reset": {
    happen: async (shop) => expect(await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD)).toBe(true),
    survivors: [UNDO],
  },
  "the address was changed": {
    happen: async (shop) => {
      const owner = await shop.loggedIn();
      (await owner.get(await shop.changeLink(owner, "ada@example.org"))).assertRedirect("/home");
      expect(await shop.isIn(owner)).toBe(true);
    },
    survivors: [UNDO],
  },
  "a change of address was undone": {
    before: async (shop) => {
      await shop.verify(await shop.changeLink(await shop.loggedIn(), TAKEN_OVER));
      expect((await shop.user())?.email).toBe(TAKEN_OVER);
      return TAKEN_OVER;
    },
    happen: async (shop) => {
      (await shop.undo(await shop.linkTo(EMAIL))).assertRedirect(/^\/password_reset\?token=/);
      expect((await shop.user())?.email).toBe(EMAIL);
    },
    survivors: [],
  },
  "all other devices were logged out": {
    happen: async (shop) => {
      const owner = await shop.loggedIn();
      await shop.loggedIn();
      await shop.send(owner, "/logins", {}, '[action="/logins"]');
      expect(await shop.isIn(owner)).toBe(true);
    },
    survivors: [LOGIN, UNDO],
  },
  "everything was logged out": {
    happen: async (shop) => expect(await (await shop.user())?.endAccess()).toBe(true),
    survivors: [LOGIN, UNDO],
  },
  "the account was blocked": { happen: block, survivors: [] },
  "the account was blocked with a statement of its own": {
    happen: (shop) => shop.User.rows().update({ blocked_at: new Date() } as never),
    survivors: [],
  },
  "the account was blocked by saving it": {
    happen: async (shop) => Object.assign((await shop.user())!, { blocked_at: new Date() }).save(),
    survivors: [],
  },
  "the account was blocked, and unblocked again": {
    happen: async (shop) => {
      await block(shop);
      const { blocks } = shop.application.container.make("accounts");
      expect(await blocks.unblock("web", (await shop.user())!, OPERATOR)).toBe(true);
    },
    survivors: [LOGIN, UNDO],
  },
  "the user was deleted": {
    happen: async (shop) => {
      await (await shop.user())?.delete();
      // An account that is created later, and may get the same key.
      const other = new shop.User().fill({ name: "Bob", email: "bob@example.com" });
      await other.setPassword(NEW_PASSWORD);
      await other.save();
    },
    survivors: [],
  },
  "the application saved a new password": {
    happen: async (shop) => {
      const user = (await shop.user())!;
      await user.setPassword(NEW_PASSWORD);
      await user.save();
    },
    survivors: [UNDO],
  },
};

const TABLE = Object.entries(EVENTS).flatMap(([event, { survivors }]) => {
  return Object.keys(DOORS).map((door) => [event, survivors.includes(door) ? "still works" : "is void", door] as const);
});

await onEachDatabase("what ends access to an account", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());
  afterEach(travelBack);

  describe("S51 every way in after every event", () => {
    test.each(TABLE)("S51 after %s, this %s: %s", async (event, expected, door) => {
      const { before, happen } = EVENTS[event]!;
      const email = before === undefined ? EMAIL : await before(shop);
      const isOpen = await DOORS[door]!.open(shop, email);
      await happen(shop);
      expect(await isOpen()).toBe(expected === "still works");
    });
  });
});
