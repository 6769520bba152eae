import type { Authenticatable } from "./authenticatable.ts";

/** The column of a model's table that is not empty while an account is blocked; `null` if its accounts never are. */
export function blockedColumnOf(users: object): string | null {
  return (users as { readonly blockedColumn?: string | null }).blockedColumn ?? null;
}

/** When a user's account was blocked; `null` if it isn't, or its class doesn't say. */
export function blockedAtOf(user: object): Date | null {
  const blockedAt = (user as Readonly<Record<string, unknown>>)[blockedColumnOf(user.constructor) ?? ""];
  return blockedAt instanceof Date ? blockedAt : null;
}

/** Reports whether a user's account is blocked. */
export function isBlocked(user: object): boolean {
  const { isBlocked: own } = user as Partial<Authenticatable>;
  return typeof own === "function" && own.call(user) === true;
}
