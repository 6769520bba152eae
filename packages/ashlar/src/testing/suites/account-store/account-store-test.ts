import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { AccountStore, AccountUser, NewAccount } from "../../../auth/index.ts";
import { UniqueViolationError } from "../../../database/index.ts";
import type { MaybePromise } from "../../../support/index.ts";

/** A store under test, without accounts. */
export interface AccountStoreUnderTest {
  readonly store: AccountStore;
  /** The attributes of two accounts, other than the address and the password; default: none. */
  readonly attributes?: readonly [NewAccount["attributes"], NewAccount["attributes"]];
  /** Called when the test is done. */
  readonly end?: () => MaybePromise<void>;
}

/** A test of an account store. */
export type AccountStoreTest = readonly [title: string, run: (bench: AccountBench) => Promise<void>];

export const PARALLEL = 10;
export const EMAILS = ["ada@example.com", "grace@example.com"] as const;
export function text(): string {
  return randomBytes(16).toString("base64url");
}

/** A store's data about an account, in comparable form. */
export function shown(user: AccountUser | null): object | null {
  if (user === null) return null;
  const isVerified = user.hasVerifiedEmail?.() ?? null;
  return {
    id: String(user.authId()),
    email: user.email,
    hash: user.passwordHash(),
    epoch: user.accessEpoch(),
    isVerified,
  };
}

/** The store under test, with helpers. */
export class AccountBench {
  readonly store: AccountStore;
  readonly attributes: readonly [NewAccount["attributes"], NewAccount["attributes"]];

  constructor({ store, attributes = [{}, {}] }: AccountStoreUnderTest) {
    this.store = store;
    this.attributes = attributes;
  }

  account(index: 0 | 1 = 0): NewAccount {
    const attributes = this.attributes[index];
    return { email: EMAILS[index], passwordHash: `$argon2id$${text()}`, accessEpoch: text(), attributes };
  }

  created(index: 0 | 1 = 0): Promise<AccountUser> {
    return this.store.create(this.account(index));
  }

  async stored(user: AccountUser): Promise<object | null> {
    return shown(await this.store.findByAuthId(user.authId()));
  }
}

/** Asserts that a user has the stored attributes, except those that the class doesn't expose. */
export function assertAttributes(user: AccountUser | null, attributes: NewAccount["attributes"]): void {
  for (const [name, value] of Object.entries(attributes)) {
    const shownValue = (user as unknown as Record<string, unknown> | null)?.[name];
    if (shownValue !== undefined) assert.deepEqual(shownValue, value, `the attribute ${name} was not stored`);
  }
}

/** Asserts that a call refuses an address that is already in use. */
export async function refusesTaken(method: "create" | "update", work: Promise<unknown>): Promise<void> {
  const [outcome] = await Promise.allSettled([work]);
  const expected = `${method}() must throw new UniqueViolationError({ columns: ["email"] }) if the address is already in use`;
  if (outcome.status === "fulfilled") assert.fail(`${expected}, but it threw nothing.`);
  const { reason } = outcome as { reason: unknown };
  if (reason instanceof UniqueViolationError && reason.column === "email") return;
  const columns = reason instanceof UniqueViolationError ? ` of the columns ${JSON.stringify(reason.columns)}` : "";
  const failure = new assert.AssertionError({ message: `${expected}, but it threw ${String(reason)}${columns}` });
  throw Object.assign(failure, { cause: reason });
}

/** Asserts that exactly one of several parallel calls succeeded. */
export function onlyOne(calls: string, count: number): void {
  assert.equal(count, 1, `${count} of ${PARALLEL} parallel calls of ${calls} succeeded, instead of 1`);
}
