import type { Authenticatable, AuthenticatableClass, UserId } from "../users/authenticatable.ts";
import { normalizeIdentifier } from "./verify-credentials.ts";

/** All identifiers that a user can log in with, in the form used to look them up. */
export function identifiersOf(user: Authenticatable, model: AuthenticatableClass): readonly string[] {
  const { email } = user as { readonly email?: unknown };
  const address = model.identifiesByEmail === true ? normalizeIdentifier(model, email) : null;
  return [...new Set([identifierOf(user, model), ...(address === null ? [] : [address])])];
}

/** The identifier that a user logs in with, in the form used to look it up. */
export function identifierOf(user: Authenticatable, model: AuthenticatableClass): string {
  const own = (user as unknown as Record<string, unknown>)[model.identifierColumn];
  return normalizeIdentifier(model, own) ?? keyAccount(user.authId());
}

/** A text that names one account of a realm. */
export function accountName(realm: string, account: string): string {
  return `${realm}\0${account}`;
}

/** The name of an account that is identified by its primary key: identifiers contain no control characters. */
export function keyAccount(id: UserId): string {
  return `\0key ${id}`;
}
