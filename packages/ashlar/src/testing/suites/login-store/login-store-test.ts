import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type {
  Authenticatable,
  ListedLogin,
  Login,
  LoginOwner,
  LoginProof,
  LoginPruning,
  LoginRange,
  LoginStore,
  NewLogin,
  UserId,
} from "../../../auth/index.ts";
import { type MaybePromise, now } from "../../../support/index.ts";

/** Two users that the store can read, for a store that also accesses users. */
export interface LoginSuiteUsers {
  /** The names of the two users' guards. */
  readonly guards: readonly [string, string];
  /** Reads one of the users as currently stored. */
  readonly read: (index: 0 | 1) => Promise<Authenticatable>;
  /** Ends all access to a user's account by changing the access epoch, as a new password does. */
  readonly endAccess: (index: 0 | 1) => Promise<void>;
}

/** A store under test, initially empty. */
export interface LoginStoreUnderTest {
  readonly store: LoginStore;
  /** Two of the store's own users; default: two made-up users. */
  readonly users?: LoginSuiteUsers;
  /** The names of the made-up users' guards; default: `web` and `staff`. */
  readonly guards?: readonly [string, string];
  /** The made-up users' keys, if the store accepts only numbers; default: two texts. */
  readonly keys?: readonly [UserId, UserId];
  /** Called when the test is done. */
  readonly end?: () => MaybePromise<void>;
}

/** A test of a login store. */
export type LoginStoreTest = readonly [title: string, run: (bench: LoginBench) => Promise<void>];

export const HOUR_MS = 3_600_000;
/** Two different keys that are equal as numbers. */
const TEXT_KEYS = ["007", "7"] as const;

/** The store under test, with helpers. */
export class LoginBench {
  readonly store: LoginStore;
  readonly users: LoginSuiteUsers;

  constructor({ store, users, guards, keys }: LoginStoreUnderTest) {
    this.store = store;
    this.users = users ?? madeUpUsers(guards ?? ["web", "staff"], keys ?? TEXT_KEYS);
  }

  get guard(): string {
    return this.users.guards[0];
  }

  async proof(index: 0 | 1 = 0): Promise<LoginProof> {
    const user = await this.users.read(index);
    const accessEpoch = epochOf(user);
    return { user, accessEpoch, holds: async () => epochOf(await this.users.read(index)) === accessEpoch };
  }

  /** A login as a guard would store it. */
  login({ user, accessEpoch }: LoginProof, own: Partial<NewLogin> = {}): NewLogin {
    // Precise to the millisecond, which a store must preserve.
    const at = now();
    return {
      guard: this.guard,
      userId: user.authId(),
      tokenHash: randomBytes(32).toString("base64url"),
      accessEpoch,
      ip: "203.0.113.7",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0)",
      authenticatedAt: new Date(at),
      methods: [
        { by: "password", at: new Date(at), amr: ["pwd"] },
        { by: "totp", at: new Date(at - HOUR_MS), amr: ["otp"] },
      ],
      lastUsedAt: new Date(at),
      expiresAt: new Date(at + HOUR_MS),
      createdAt: new Date(at),
      ...own,
    };
  }

  /** Starts a login for a user, and returns it with its key. */
  async started(index: 0 | 1 = 0, own: Partial<NewLogin> = {}): Promise<NewLogin & { readonly id: string }> {
    const proof = await this.proof(index);
    const login = this.login(proof, own);
    const id = await this.store.start(login, proof);
    assert.equal(typeof id, "string", "start returns the key of the login, as text");
    return { ...login, id: id! };
  }

  async isThere({ guard, tokenHash }: NewLogin): Promise<boolean> {
    return (await this.store.find(guard, tokenHash)) !== null;
  }

  async count(owner: LoginOwner): Promise<number> {
    return (await this.listed(owner)).length;
  }

  /** A user's logins, newest first. */
  listed(owner: LoginOwner, range: Partial<LoginRange> = {}): Promise<readonly ListedLogin[]> {
    return this.store.list(owner, { limit: 100, ...range });
  }

  pruning(own: Partial<LoginPruning> = {}): LoginPruning {
    const longAgo = new Date(0);
    return { endedBefore: longAgo, unusedSince: longAgo, existingUsers: async () => null, ...own };
  }
}

/** The fields of a login that guards read, in comparable form. */
export function shown({ id, userId, accessEpoch, authenticatedAt, lastUsedAt, expiresAt, createdAt }: Login): object {
  return { id, userId: String(userId), accessEpoch, authenticatedAt, lastUsedAt, expiresAt, createdAt };
}

export function ownerOf({ guard, userId }: NewLogin): LoginOwner {
  return { guard, userId };
}

function epochOf(user: Authenticatable): string {
  return user.accessEpoch?.() ?? "";
}

function madeUpUsers(guards: readonly [string, string], keys: readonly [UserId, UserId]): LoginSuiteUsers {
  const epochs = ["first", "second"];
  return {
    guards,
    read: async (index) => {
      const epoch = epochs[index]!;
      return {
        authId: () => keys[index],
        passwordHash: () => null,
        storePasswordHash: async () => {},
        accessEpoch: () => epoch,
      };
    },
    endAccess: async (index) => {
      epochs[index] = randomBytes(16).toString("base64url");
    },
  };
}
