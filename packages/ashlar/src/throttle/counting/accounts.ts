import type { HttpContext } from "../../http/index.ts";
import type { AshlarError } from "../../support/index.ts";
import type { AttemptKeys, CountedDevice } from "../limits/keys.ts";
import type { Limit } from "../limits/limit.ts";

/** An account, as attempts at it are counted. */
export interface AccountIdentity {
  /** The set of accounts it belongs to: those of one class of users, through any guard. */
  readonly realm: string;
  /** What identifies it in that set, in the form that lookups use; `null` if no account can have it. */
  readonly account: string | null;
  /** A proof that the client has to do with the account, counted instead of the address; `null`: none. */
  readonly proof?: string | null;
  /** The client's device, if the account was used on it before; `null` if it was not. */
  readonly device?: CountedDevice | null;
}

/** Whose account an attempt is at, according to the limit or the caller. */
export interface NamedAccount {
  /** The name of the limit. */
  readonly limit: string;
  /** The name of the guard. */
  readonly guard: string;
  /** The account's identifier, as it was sent. */
  readonly identifier: string;
}

/** Knows the application's accounts, for limits that count by account. Registered by the feature with the guards. */
export interface ThrottleAccounts {
  /** The name of the active guard of a request; `null` if the application has no guards. */
  guardOf(context: HttpContext): string | null;
  /** The account that an attempt is at. It is never looked up: an unknown account is counted like any other. */
  named(context: HttpContext, named: NamedAccount): AccountIdentity;
  /**
   * Reports whether a request may turn out to have a proof or a known device, once its inputs are read: `false` only if
   * it can't.
   */
  mayHaveProof(context: HttpContext, limit: string): boolean;
  /** The error for an attempt that its account refuses at this moment, so that it isn't counted; `null` if it has to be. */
  refusal(context: HttpContext, limit: string, keys: AttemptKeys): AshlarError | null;
  /** The account of a user of a guard, as a limit counts it; `null` if there is no such guard. */
  ofUser(context: HttpContext, guard: string, user: object, limit: string): AccountIdentity | null;
}

/** Says whose attempt a hit is, if that is not the limit's own input. */
export interface HitOptions {
  /**
   * The account's identifier, such as an email address; anything but text means no account. Default: the input named in
   * the limit's configuration, or if the limit has none, the logged-in user.
   */
  readonly account?: unknown;
  /** The user whose account it is, whatever the inputs are; `null` means no account. */
  readonly user?: object | null;
  /** The name of the guard that the attempt is made at; default: the active guard. */
  readonly guard?: string;
  /**
   * A proof that the client has to do with the account, such as a token that was issued to it. It is counted instead of
   * the address, and buckets that count only by address neither refuse nor count the attempt.
   *
   * Security: it must not be something that a client can make up: each invented proof would be a fresh set of attempts.
   */
  readonly proof?: string | null;
  /**
   * What is tried at the account, such as the code of one login step: attempts at each are counted separately. Default:
   * the account as a whole.
   */
  readonly subject?: string | null;
}

/** Returns whose attempt a request is, as a limit counts it. */
export function attemptKeys(
  context: HttpContext,
  limit: Limit,
  options: HitOptions,
  accounts: ThrottleAccounts | null,
): AttemptKeys {
  const address = context.request.clientAddress;
  const identity = identify(context, limit, options, accounts);
  const proof = options.proof ?? identity.proof ?? null;
  const { subject = null } = options;
  return { address, ...identity, proof, device: proof === null ? (identity.device ?? null) : null, subject };
}

function identify(
  context: HttpContext,
  limit: Limit,
  options: HitOptions,
  accounts: ThrottleAccounts | null,
): AttemptKeys {
  const guard = options.guard ?? accounts?.guardOf(context) ?? null;
  const named = options.user === undefined ? namedAccount(context, limit, options) : null;
  if (named === null) {
    const user = options.user === undefined ? context.currentUser : options.user;
    if (user === null) return {};
    const identity = guard === null ? null : accounts?.ofUser(context, guard, user, limit.name);
    return identity ?? { account: userAccount(user) };
  }
  if (typeof named !== "string") return {};
  if (guard === null || accounts === null) return { account: named };
  const identity = accounts.named(context, { limit: limit.name, guard, identifier: named });
  // An application's own limit may count by an input that has nothing to do with accounts.
  return identity.account === null && !limit.ofAccounts ? { account: named } : identity;
}

/** The account's identifier according to the attempt; `null` if the limit does not use one, or if none was sent. */
function namedAccount(context: HttpContext, { account }: Limit, options: HitOptions): unknown {
  if (options.account !== undefined) return options.account ?? false;
  return account === null ? null : readInput(context, account);
}

/** The account of a user if no guard identifies it: no address can have this spelling. */
function userAccount(user: object): string | null {
  const { authId } = user as { readonly authId?: () => unknown };
  return typeof authId === "function" ? `user ${String(authId.call(user))}` : null;
}

function readInput(context: HttpContext, name: string): unknown {
  try {
    return context.request.input(name);
  } catch {
    // A body that cannot be parsed is an attempt too; the next code that reads an input reports the problem.
    return null;
  }
}
