import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { ADA, BOB, type TestApi, testApi } from "../../test/support/api-application.ts";
import { UserWithToken } from "../../test/support/application-parts.ts";
import type { CredentialHolder } from "../auth/index.ts";
import { compose, Database, Model } from "../database/index.ts";
import { digest } from "../security/index.ts";
import { AuthenticatesTokens } from "./authenticates-tokens.ts";

const ada = async (api: TestApi) => (await api.User.find(ADA.id))!;

describe("generateJwt()", () => {
  test("activates a token by storing its digest, replacing the user's previous one and no other user's", async () => {
    const api = await testApi();
    const user = await ada(api);
    const first = await user.generateJwt();
    expect([user.api_token, await api.storedDigest(1)]).toEqual([digest(first), digest(first)]);
    const second = await user.generateJwt();
    expect([await api.storedDigest(1), await api.storedDigest(2)]).toEqual([digest(second), null]);
    expect((await api.User.attemptByToken(second))?.toJSON()).toEqual(ADA);
    for (const other of [first, "garbage", "", null, [second]]) {
      expect(await api.User.attemptByToken(other)).toBeNull();
    }
  });

  test("S52 for a user that was read before access ended is refused, and leaves the account without a token", async () => {
    const api = await testApi();
    const [stale, user] = [await ada(api), await ada(api)];
    expect(await user.endAccess()).toBe(true);
    await expect(stale.generateJwt()).rejects.toMatchObject({ code: "E_STALE_PROOF" });
    expect(await api.storedDigest(1)).toBeNull();
    expect(await user.generateJwt()).toEqual(expect.any(String));
  });

  test("S69 for a user from another table is refused, because the token would belong to the user with the same key", async () => {
    const api = await testApi();
    class Root extends api.User {
      static override table = "admins";
    }
    const root = Root.fromRow({ id: 1, access_epoch: "an epoch", api_token: null });
    await expect(root.generateJwt()).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
    await expect(Root.attemptByToken(await (await ada(api)).generateJwt())).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
    });
  });

  test("throws an error that says so if the user no longer exists", async () => {
    const api = await testApi();
    const user = await ada(api);
    await (await ada(api)).delete();
    await expect(user.generateJwt()).rejects.toMatchObject({ code: "E_ROW_NOT_FOUND" });
  });
});

describe("revokeToken()", () => {
  test("removes the token whatever has changed since the user was read, even if the row is gone", async () => {
    const api = await testApi();
    const stale = await ada(api);
    const user = await ada(api);
    await user.endAccess();
    await user.generateJwt();
    await stale.revokeToken();
    expect([stale.tokenDigest(), await api.storedDigest(1)]).toEqual([null, null]);
    await user.delete();
    await expect(stale.revokeToken()).resolves.toBeUndefined();
  });
});

describe("a user's active token", () => {
  test("S51 ends with the access to the account, and only that user's", async () => {
    const api = await testApi();
    const [user, bob] = [await ada(api), (await api.User.find(BOB.id))!];
    await user.generateJwt();
    const token = await bob.generateJwt();
    await user.endAccess();
    expect([user.tokenDigest(), await api.storedDigest(1), await api.storedDigest(2)]).toEqual([
      null,
      null,
      digest(token),
    ]);
  });

  test("S51 ends with the access to the account of a user that was read without it, if the column exists", async () => {
    const api = await testApi();
    await (await ada(api)).generateJwt();
    const [row] = await api.database.kysely
      .selectFrom("users")
      .select(["id", "email", "password", "access_epoch"])
      .where("id", "=", 1)
      .execute();
    const user = api.User.fromRow(row as Record<string, unknown>);
    expect(user.accessChanges()).toEqual({ access_epoch: expect.stringMatching(/^[\w-]{22}$/) });
    expect([await user.endAccess(), await api.storedDigest(1)]).toEqual([true, null]);
    class Untokened extends api.User {
      static override tokenColumn = "missing";
    }
    const other = Untokened.fromRow({ ...(row as Record<string, unknown>), access_epoch: user.accessEpoch() });
    expect(await other.endAccess()).toBe(true);
  });

  test("is removed by the statement that ends access, and by a separate one only if it isn't known", async () => {
    const api = await testApi();
    let removals = 0;
    class Counted extends api.User {
      static override table = "users";
      override async revokeToken(): Promise<void> {
        removals++;
        return super.revokeToken();
      }
    }
    Counted.useDatabase(api.database);
    await (await ada(api)).generateJwt();
    await (await Counted.find(ADA.id))!.endAccess();
    expect([removals, await api.storedDigest(1)]).toEqual([0, null]);
  });

  test("is replaced only for the user whose active token it is", async () => {
    const api = await testApi();
    await (await ada(api)).generateJwt();
    const active = (await api.storedDigest(1))!;
    expect(await api.User.replaceToken(2, active, "another")).toBe(false);
    expect(await api.User.replaceToken(1, "another", "a third")).toBe(false);
    expect(await api.storedDigest(1)).toBe(active);
    expect(await api.User.replaceToken(1, active, "another")).toBe(true);
    expect([await api.storedDigest(1), await api.storedDigest(2)]).toEqual(["another", null]);
  });

  test("S57 is never in JSON, hidden or not, and can't be set by a form", async () => {
    const api = await testApi();
    class Shown extends UserWithToken {
      static override table = "users";
      static override timestamps = false;
    }
    Shown.useDatabase(api.database);
    await (await ada(api)).generateJwt();
    const user = (await Shown.find(1))!;
    expect(user.fill({ api_token: "chosen", name: "Augusta" }).api_token).toBe(await api.storedDigest(1));
    expect(user.toJSON()).toEqual({ ...ADA, name: "Augusta" });
  });
});

test("a model with only this mixin keeps a digest, and removes it as access ends", async () => {
  const database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  onTestFinished(() => database.close());
  const ended: string[] = [];
  class Holder extends Model {
    async endCredentials(): Promise<void> {
      await nextTurn();
      ended.push("own");
    }
  }
  class Key extends compose(Holder, AuthenticatesTokens) {
    static override timestamps = false;
    declare id: number;
  }
  Key.useDatabase(database);
  await database.kysely.schema
    .createTable("keys")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("api_token", "text")
    .execute();
  const key = await new Key().save();
  await key.activateToken("a digest");
  expect([key.tokenDigest(), (await Key.find(1))!.tokenDigest()]).toEqual(["a digest", "a digest"]);
  expect((key as unknown as { accessChanges(): object }).accessChanges()).toEqual({ api_token: null });
  const bare = Key.fromRow({ id: 1 });
  expect(bare.tokenDigest()).toBeNull();
  expect((bare as unknown as { accessChanges(): object }).accessChanges()).toEqual({});
  // Only text can be a token, whether or not the class has an API. Text is left to the API.
  for (const token of [null, undefined, 7, ["a token"]]) expect(await Key.attemptByToken(token)).toBeNull();
  await expect(Key.attemptByToken("a token")).rejects.toMatchObject({ code: "E_UNKNOWN_SERVICE" });
  database.onQuery(({ sql }) => void ended.push(sql.split(" ")[0]!));
  await (key as unknown as CredentialHolder).endCredentials();
  // The credentials of the class that the mixin extends end first.
  expect(ended).toEqual(["own", "update"]);
  expect([key.tokenDigest(), (await Key.find(1))!.tokenDigest()]).toEqual([null, null]);
  await key.delete();
  await expect(key.activateToken("another")).rejects.toMatchObject({ code: "E_ROW_NOT_FOUND" });
  await database.kysely.schema.dropTable("keys").execute();
  const kept = Key.fromRow({ id: 1, api_token: "a digest" }) as unknown as CredentialHolder;
  await expect(kept.endCredentials()).rejects.toThrow("no such table");
});
