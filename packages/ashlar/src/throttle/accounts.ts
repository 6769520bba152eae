import type { HttpContext } from "../http/index.ts";

/** An account as attempts at it are counted. */
export interface AccountIdentity {
  /** Which accounts it is one of: those of one class of users, whichever guard they come by. */
  readonly realm: string;
  /** What identifies it there, in the form that a lookup goes by; `null` if it cannot be an account's. */
  readonly account: string | null;
  /** What proves that the client has to do with the account, to be counted by in place of the address; `null`: nothing. */
  readonly proof?: string | null;
  /** What stands for the device the client is on, if the account was used on it before; `null` if it was not. */
  readonly device?: string | null;
}

/** Whose account an attempt is at, as far as the limit or the caller says. */
export interface NamedAccount {
  /** The name of the limit. */
  readonly limit: string;
  /** The name of the guard. */
  readonly guard: string;
  /** What the account is called, as it was sent. */
  readonly identifier: string;
}

/** Knows the application's accounts, for what is counted by account. Registered by what brings guards. */
export interface ThrottleAccounts {
  /** The name of the active guard of a request; `null` if the application has no guards. */
  guardOf(context: HttpContext): string | null;
  /** The account that an attempt names. It is never looked up: an unknown account is counted like any other. */
  named(context: HttpContext, named: NamedAccount): AccountIdentity;
  /** The account of a user of a guard; `null` if there is no such guard. */
  ofUser(context: HttpContext, guard: string, user: object): AccountIdentity | null;
}
