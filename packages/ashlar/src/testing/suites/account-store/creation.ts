import assert from "node:assert/strict";
import { type AccountStoreTest, onlyOne, PARALLEL, refusesTaken } from "./account-store-test.ts";

/** Attributes that a registration must never set. */
const NO_ATTRIBUTES = [
  "id",
  "email",
  "Email",
  "password",
  "password_hash",
  "passwordHash",
  "access_epoch",
  "accessEpoch",
  "verified_at",
  "verifiedAt",
  "created_at",
  "api_token",
  "role",
  "roles",
  "admin",
  "is_admin",
  "isAdmin",
  "permissions",
  "",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "an unknown attribute",
];

export const CREATION: readonly AccountStoreTest[] = [
  [
    "a registration can set its own attributes, and no others",
    async ({ store, attributes }) => {
      for (const name of NO_ATTRIBUTES) {
        assert.equal(store.attributeKind(name), null, `attributeKind("${name}") must return null`);
      }
      for (const name of Object.keys(attributes[0])) {
        assert.ok(
          ["value", "json"].includes(String(store.attributeKind(name))),
          `attributeKind("${name}") must return "value" or "json": the attribute is passed to the suite`,
        );
      }
    },
  ],
  [
    "if several accounts with the same address are created at once, only one is stored",
    async (bench) => {
      const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, () => bench.created()));
      await refusesTaken("create", bench.created());
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") await refusesTaken("create", Promise.reject(outcome.reason));
      }
      onlyOne("create()", outcomes.filter(({ status }) => status === "fulfilled").length);
    },
  ],
  [
    "texts of the maximum length come back unchanged",
    async (bench) => {
      const { store } = bench;
      const email = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(57)}.com`;
      const account = { ...bench.account(), email, passwordHash: "h".repeat(255), accessEpoch: "e".repeat(43) };
      const user = await store.create(account);
      assert.equal(email.length, 254);
      for (const one of [user, await store.findByAuthId(user.authId()), await store.findByEmail(email)]) {
        assert.deepEqual(
          [one?.email, one?.passwordHash(), one?.accessEpoch()],
          [email, account.passwordHash, account.accessEpoch],
        );
      }
    },
  ],
];
