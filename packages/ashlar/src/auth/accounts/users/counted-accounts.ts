import type { HttpContext } from "../../../http/index.ts";
import { digest, normalizeEmail } from "../../../security/index.ts";
import type { AshlarError } from "../../../support/index.ts";
import type {
  AccountIdentity,
  AttemptKeys,
  NamedAccount,
  ThrottleAccounts,
  ThrottleKeys,
} from "../../../throttle/index.ts";
import { accessEpochOf } from "../../access/access-epoch.ts";
import type { GuardRegistry } from "../../guards/guard-registry.ts";
import { refusedAtOnce } from "../../guards/guesses.ts";
import { PASSWORD_LIMIT, STEP_LIMIT, STEP_TOTAL_LIMIT } from "../../limits.ts";
import {
  accountName,
  identifierOf,
  identifiersOf,
  keyAccount,
  normalizeIdentifier,
} from "../../passwords/verify-credentials.ts";
import { type Authenticatable, keepsSameRows, type UserId } from "../../users/authenticatable.ts";
import type { AccountClaim } from "../links/account-links.ts";

/** The limits whose attempts identify an account by the token of a link. */
const RESET_LIMITS: readonly string[] = ["password_reset", "password_reset.show"];

/** The limits whose attempts identify an account by its address, whatever its users log in with. */
const ADDRESS_LIMITS: readonly string[] = [
  "change_password",
  "login_links",
  "login_links.code",
  "passkeys.register",
  "register",
];

/**
 * The limits on comparisons that take place once the user is known. A user has the same password and code at every
 * guard, even if one guard identifies users by address and another by name.
 */
const KNOWN_USER_LIMITS: readonly string[] = [STEP_LIMIT, STEP_TOTAL_LIMIT];

/** The dependencies of {@link CountedAccounts}. */
export interface CountedAccountsDependencies {
  readonly guards: GuardRegistry;
  /** Returns the account from a reset link's token; `null` if the token was not created here. */
  readonly readResetToken: (token: string) => AccountClaim | null;
}

/**
 * Names the accounts by which attempts are counted: the class of the users and the identifier, in exactly the form used
 * for lookups. The account itself isn't looked up, so attempts at an unknown account are counted and answered like any
 * others.
 */
export class CountedAccounts implements ThrottleAccounts {
  readonly #dependencies: CountedAccountsDependencies;

  constructor(dependencies: CountedAccountsDependencies) {
    this.#dependencies = dependencies;
  }

  guardOf(context: HttpContext): string | null {
    return this.#dependencies.guards.names.length === 0 ? null : context.auth.guardName;
  }

  named(context: HttpContext, { limit, guard, identifier }: NamedAccount): AccountIdentity {
    if (RESET_LIMITS.includes(limit)) return this.#ofResetToken(guard, identifier);
    const model = this.#dependencies.guards.modelOf(guard);
    const address = ADDRESS_LIMITS.includes(limit) ? normalizeEmail(identifier) : null;
    return this.#identity(context, guard, model === null ? null : (address ?? normalizeIdentifier(model, identifier)));
  }

  mayHaveProof(context: HttpContext, limit: string): boolean {
    return RESET_LIMITS.includes(limit) || (this.#dependencies.guards.guesses.devices?.isKnown(context) ?? false);
  }

  refusal(context: HttpContext, limit: string, keys: AttemptKeys): AshlarError | null {
    const { account = null, realm = null, device = null, proof = null } = keys;
    if (limit !== PASSWORD_LIMIT || account === null || realm === null) return null;
    return device === null && proof === null ? refusedAtOnce(context, accountName(realm, account)) : null;
  }

  ofUser(context: HttpContext, guard: string, user: object, limit: string): AccountIdentity | null {
    const model = this.#dependencies.guards.modelOf(guard);
    if (model === null) return null;
    const account = user as Authenticatable;
    const identity = this.#identity(context, guard, identifierOf(account, model));
    if (!KNOWN_USER_LIMITS.includes(limit)) return identity;
    return { ...identity, ...this.#byKey(guard, account.authId()) };
  }

  #identity(context: HttpContext, guard: string, account: string | null): AccountIdentity {
    const { guards } = this.#dependencies;
    const realm = guards.realmOf(guard);
    if (account === null) return { realm, account, device: null };
    return { realm, account, device: guards.guesses.devices?.deviceOf(context, accountName(realm, account)) ?? null };
  }

  /** Attempts with a token from a mail are counted by token; made-up tokens are counted by address. */
  #ofResetToken(guard: string, token: string): AccountIdentity {
    const claim = this.#dependencies.readResetToken(token);
    if (claim === null) return { realm: this.#dependencies.guards.realmOf(guard), account: null };
    return { ...this.#byKey(claim.guard, claim.id), proof: digest(token) };
  }

  /** An account identified by its primary key. It is the same for all guards whose users are the same rows. */
  #byKey(guard: string, id: UserId): Pick<AccountIdentity, "realm" | "account"> {
    return { realm: this.#dependencies.guards.rowsOf(guard), account: keyAccount(id) };
  }
}

/**
 * The names under which attempts at an account, and mails to it, are counted regardless of the client's address: its
 * user's identifiers, its key, and the proofs of login steps.
 */
export function countedKeysOf(guards: GuardRegistry, guard: string, user: Authenticatable): readonly ThrottleKeys[] {
  const model = guards.modelOf(guard);
  if (model === null) return [];
  const { email } = user as { readonly email?: unknown };
  const addresses = typeof email === "string" ? [normalizeEmail(email) ?? email] : [];
  const names = new Set([...identifiersOf(user, model), ...addresses]);
  const realms = new Set(
    guards.names.filter((name) => keepsSameRows(guards.modelOf(name)!, model)).map((name) => guards.realmOf(name)),
  );
  const byKey = { realm: guards.rowsOf(guard), account: keyAccount(user.authId()) };
  return [
    ...[...realms].flatMap((realm) => [...names].map((account) => ({ realm, account }))),
    ...addresses.map((account) => ({ account })),
    byKey,
    ...stepKeysOf(guards, guard, user),
  ];
}

/** The keys under which the proofs of login steps are counted. */
export function stepKeysOf(guards: GuardRegistry, guard: string, user: Authenticatable): readonly ThrottleKeys[] {
  const byKey = { realm: guards.rowsOf(guard), account: keyAccount(user.authId()) };
  const epoch = accessEpochOf(user);
  const steps = new Set(guards.names.flatMap((name) => guards.stepsOf(name).map((step) => step.name)));
  return [...steps].flatMap((step) => [step, `${step}\0${epoch}`].map((subject) => ({ ...byKey, subject })));
}
