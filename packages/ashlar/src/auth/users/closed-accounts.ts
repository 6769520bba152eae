import { userClassOf } from "./authenticatable.ts";

/** The column of a model's table that is not empty once an account is closed; `null` if accounts are never closed. */
export function closedColumnOf(users: object): string | null {
  return (userClassOf(users) as { readonly closedColumn?: string | null }).closedColumn ?? null;
}

/** Reports whether a user's account is closed. */
export function isClosed(user: object): boolean {
  const column = closedColumnOf(user.constructor);
  return column !== null && ((user as Readonly<Record<string, unknown>>)[column] ?? null) !== null;
}
