import { accessEpochOf, type LoginProof, readAgain } from "../../src/auth/access/access-epoch.ts";
import type { Authenticatable, AuthenticatableClass } from "../../src/auth/index.ts";
import type { NewLogin } from "../../src/auth/logins/login-store.ts";

/** A guard's proof that a user has authenticated. */
export function proofOf(model: AuthenticatableClass, user: Authenticatable): LoginProof {
  return {
    user,
    accessEpoch: accessEpochOf(user),
    holds: async () => (await readAgain(model, user)) !== null,
  };
}

/** User 1's login with the guard `web`, which began in 2030 and lasts two hours. */
export function testLogin(own: Partial<NewLogin> = {}): NewLogin {
  const at = new Date("2030-01-01T00:00:00.000Z");
  return {
    guard: "web",
    userId: 1,
    tokenHash: "first",
    accessEpoch: "an epoch",
    ip: null,
    userAgent: null,
    authenticatedAt: null,
    methods: [],
    lastUsedAt: at,
    expiresAt: new Date("2030-01-01T02:00:00.000Z"),
    createdAt: at,
    ...own,
  };
}
