import { describe, expect, onTestFinished, test } from "vitest";
import { ADA, AdminUser, BOB, type TestAccounts, testAccounts } from "../../test/support/account-application.ts";
import { onEachDatabase, type TestEngine } from "../../test/support/services.ts";
import { declareFeature, type Feature, Provider, type ProviderClass } from "../boot/index.ts";
import { setClock } from "../support/index.ts";
import type { AuthenticatorKind } from "./authenticator-kind.ts";
import type { Authenticators, AuthenticatorTable } from "./authenticators.ts";
import { createAuthenticatorsTable } from "./authenticators-table.ts";
import { AUTHENTICATORS } from "./feature.ts";

const LABEL = "pages.account";

function declaring(name: string, authenticators: Readonly<Record<string, AuthenticatorKind>>): ProviderClass {
  return class extends Provider {
    static override readonly feature: Feature = declareFeature({ name, includes: [AUTHENTICATORS], authenticators });
  };
}

const Keys = declaring("keys", { key: { label: LABEL }, card: { label: LABEL, endsWithAccess: true }, note: {} });

interface Opened {
  readonly accounts: TestAccounts;
  readonly authenticators: Authenticators;
  readonly keys: AuthenticatorTable;
  readonly cards: AuthenticatorTable;
}

async function opened(engine?: TestEngine): Promise<Opened> {
  const accounts = await testAccounts({ ...(engine !== undefined && { engine }), providers: [Keys] });
  await createAuthenticatorsTable(accounts.database.kysely);
  const authenticators = accounts.application.container.make("authenticators");
  return { accounts, authenticators, keys: authenticators.table("key"), cards: authenticators.table("card") };
}

let made = 0;
const values = (name: string) => ({ name, data: null, counter: 0, handle: `handle ${++made}` });

await onEachDatabase("the table of authenticators", (engine) => {
  test("S145 no method reaches authenticators of another kind, whatever it is called with", async () => {
    const { accounts, keys, cards } = await opened(engine);
    const ada = await accounts.user();
    const key = (await keys.insert(ada, { ...values("Key"), handle: "shared" }))!;
    const card = (await cards.insert(ada, values("Card")))!;
    expect([await keys.count(ada), await cards.count(ada)]).toEqual([1, 1]);
    expect((await cards.list(ada)).map(({ name }) => name)).toEqual(["Card"]);
    expect([await cards.get("id", key), await cards.find("id", key), await cards.findActive("id", key)]).toEqual([
      null,
      null,
      null,
    ]);
    expect([await cards.get("handle", "shared"), await cards.find("handle", "shared")]).toEqual([null, null]);
    expect((await keys.findActive("handle", "shared"))?.credential.id).toBe(key);
    // As an input could name the column.
    const where = { id: key, kind: "key" } as { id: string };
    expect(await cards.update({ id: key }, { name: "taken" })).toBe(false);
    expect(await cards.update(where, { name: "taken" })).toBe(false);
    expect([await cards.revoke({ id: key }), await cards.delete(where)]).toEqual([false, false]);
    await cards.touch(key);
    const { name, last_used_at } = (await keys.get("id", key))!;
    expect([name, last_used_at]).toEqual(["Key", null]);
    await keys.insert(ada, values("Second key"));
    expect(await cards.deleteOldest(ADA.id, 1)).toBe(0);
    expect(await keys.count(ada)).toBe(2);
    const subject = { user: ada, id: ADA.id };
    expect(await cards.export(subject, ["name"])).toEqual([{ name: "Card" }]);
    await cards.erase(subject);
    expect([await keys.count(ada), await cards.count(ada)]).toEqual([2, 0]);
    expect(await cards.deleteAll(ADA.id)).toBe(0);
    expect([await keys.deleteAll(ADA.id, key), await cards.get("id", card)]).toEqual([1, null]);
    expect((await keys.list(ada)).map(({ id }) => id)).toEqual([key]);
  });

  test("S142 one of twenty takes what only one may have, and one of twenty uses it up", async () => {
    const { accounts, keys } = await opened(engine);
    const ada = await accounts.user();
    const twenty = Array.from({ length: 20 });
    const inserted = await Promise.allSettled(twenty.map(() => keys.insert(ada, { ...values("One"), handle: "only" })));
    const [own, ...others] = inserted.filter((one) => one.status === "fulfilled");
    expect(others).toEqual([]);
    const id = own!.value!;
    const advanced = await Promise.all(twenty.map(() => keys.update({ id, counter: 0 }, { counter: 58_000_000_000 })));
    expect(advanced.filter(Boolean)).toEqual([true]);
    expect((await keys.get("id", id))?.counter).toBe(58_000_000_000);
    const used = await Promise.all(twenty.map(() => keys.delete({ handle: "only", user_id: ADA.id })));
    expect(used.filter(Boolean)).toEqual([true]);
  });

  test("a kind that ends with access is gone after it, others stay, and none is stored for a user read before", async () => {
    const { accounts, keys, cards } = await opened(engine);
    const before = await accounts.user();
    await keys.insert(before, values("Key"));
    await cards.insert(before, values("Card"));
    await (await accounts.user()).endAccess();
    const ada = await accounts.user();
    expect([await keys.count(ada), await cards.count(ada)]).toEqual([1, 0]);
    expect(await keys.insert(before, values("Late"))).toBeNull();
  });
});

describe("authenticators", () => {
  test("of a user are listed with their kinds, newest first, without kinds that have no name", async () => {
    const { accounts, authenticators, keys, cards } = await opened();
    setClock(() => 1_900_000_000_000);
    onTestFinished(() => setClock(null));
    const [ada, bob] = [await accounts.user(), await accounts.user(BOB.id)];
    for (const name of ["Old key", "New key"]) await keys.insert(ada, values(name));
    await cards.insert(ada, values("Card"));
    await keys.insert(bob, values("Bob's"));
    await authenticators.table("note").insert(ada, values("Note"));
    const own = await authenticators.of(ada);
    expect(own.map(({ kind, name }) => [kind, name])).toEqual([
      ["key", "New key"],
      ["key", "Old key"],
      ["card", "Card"],
    ]);
    const { id, createdAt, lastUsedAt } = own[0]!;
    expect([createdAt, lastUsedAt]).toEqual([new Date(1_900_000_000_000), null]);
    await keys.touch(id);
    expect((await authenticators.of(ada))[0]?.lastUsedAt).toEqual(new Date(1_900_000_000_000));
    expect([authenticators.labelOf("key"), authenticators.labelOf("note")]).toEqual([LABEL, null]);
  });

  test("S69 of guards with the same users are the same, and of other users with the same key are not", async () => {
    const Admin = class Admin extends AdminUser {};
    const guards = { staff: { driver: "web", model: Admin } };
    const accounts = await testAccounts({ providers: [Keys], models: [Admin], guards });
    const { kysely } = accounts.database;
    await createAuthenticatorsTable(kysely);
    const authenticators = accounts.application.container.make("authenticators");
    const ada = await accounts.user();
    const admin = await Admin.findOrFail(ADA.id);
    await authenticators.tableOf("key", ada).insert(ada, values("Ada's"));
    await authenticators.tableOf("key", admin).insert(admin, values("The administrator's"));
    expect((await authenticators.of(ada)).map(({ name }) => name)).toEqual(["Ada's"]);
    expect((await authenticators.of(admin)).map(({ name }) => name)).toEqual(["The administrator's"]);
    expect([authenticators.ownerOf(ada), authenticators.ownerOf(admin)]).toEqual(["web 1", "staff 1"]);
    expect(authenticators.table("key", "web")).toBe(authenticators.tableOf("key", ada));
    expect(() => authenticators.table("key", "stuff")).toThrow('Did you mean "staff"?');
  });

  test("second factors are made once, on first use, and have the names of their kinds", async () => {
    let calls = 0;
    const Pins = declaring("pins", {
      pin: {
        label: LABEL,
        factor: () => {
          calls++;
          return {
            amr: ["pin"],
            field: "pin",
            isRequired: true,
            has: () => true,
            accept: (_user, pin) => pin === "42",
          };
        },
      },
      plain: { label: LABEL },
    });
    const accounts = await testAccounts({ providers: [Pins] });
    const authenticators = accounts.application.container.make("authenticators");
    expect([authenticators.kinds, calls]).toEqual([["pin", "plain"], 0]);
    const [pin, ...others] = authenticators.factors;
    expect([pin, others, authenticators.factors[0] === pin, calls]).toEqual([
      expect.objectContaining({ name: "pin", amr: ["pin"], field: "pin", isRequired: true, isGuessable: true }),
      [],
      true,
      1,
    ]);
    expect(await pin!.accept(await accounts.user(), "42", null as never)).toBe(true);
  });

  test("unknown kinds, and kinds declared twice, are errors that say what to do", async () => {
    const { authenticators } = await opened();
    expect(() => authenticators.table("kee")).toThrow('no kind is named "kee". Did you mean "key"?');
    await expect(testAccounts({ providers: [Keys, declaring("others", { key: {} })] })).rejects.toThrow(
      'others: the kind of authenticator "key" is already declared by keys. Give one of them another name.',
    );
  });
});
