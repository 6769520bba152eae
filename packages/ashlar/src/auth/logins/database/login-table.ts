import { type Database, dateOf, type Model, type ModelClass, type Row } from "../../../database/index.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../../authenticatable.ts";
import { isModel } from "../../users-of.ts";
import type { ListedLogin } from "../login-store.ts";

/** The table of logins: one row for each device that a user is logged in on. */
export const LOGIN_TABLE = "logins";

/** A class of users who are rows. */
export type UserModelClass = ModelClass<Model & Authenticatable> & AuthenticatableClass;

/**
 * Reports whether a class keeps its users in a table next to that of the logins, so that one statement can use both.
 */
export function standsBesideLogins(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return isModel(model) && (model.connection === null || model.connection === database.settings.default);
}

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
    lastUsedAt: dateOf(row.last_used_at),
    expiresAt: dateOf(row.expires_at),
    createdAt: dateOf(row.created_at),
    ip: row.ip as string | null,
    userAgent: row.user_agent as string | null,
  };
}
