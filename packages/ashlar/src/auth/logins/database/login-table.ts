import { dateOf, type Row } from "../../../database/index.ts";
import { methodsFrom } from "../../proofs/login-methods.ts";
import type { UserId } from "../../users/authenticatable.ts";
import type { ListedLogin } from "../login-store.ts";

/** The table of logins: one row for each device that a user is logged in on. */
export const LOGIN_TABLE = "logins";

/** Reports whether a text can be the key of a row: databases interpret any other in different ways. */
export function isKey(id: string): boolean {
  return /^\d{1,18}$/.test(id);
}

/** A row in the form that the store returns. */
export function listedLogin(row: Row): ListedLogin {
  return {
    id: String(row.id),
    userId: row.user_id as UserId,
    accessEpoch: row.access_epoch as string,
    authenticatedAt: row.authenticated_at === null ? null : dateOf(row.authenticated_at),
    methods: methodsFrom(row.methods),
    lastUsedAt: dateOf(row.last_used_at),
    expiresAt: dateOf(row.expires_at),
    createdAt: dateOf(row.created_at),
    ip: row.ip as string | null,
    userAgent: row.user_agent as string | null,
  };
}
