import type { Authenticatable } from "./authenticatable.ts";

/** The column of a model's table that is not empty while an account is blocked; `null` if its accounts never are. */
export function blockedColumnOf(users: object): string | null {
  return (users as { readonly blockedColumn?: string | null }).blockedColumn ?? null;
}

/** Reports whether a user's account is blocked. */
export function isBlocked(user: object): boolean {
  const { isBlocked: own } = user as Partial<Authenticatable>;
  return typeof own === "function" && own.call(user) === true;
}
