import type { HttpContext } from "../../http/index.ts";
import type { AshlarError } from "../../support/index.ts";
import type { AttemptKeys, CountedDevice } from "../limits/keys.ts";

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
