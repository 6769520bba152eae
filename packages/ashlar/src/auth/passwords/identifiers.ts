import type { Model, ModelClass } from "../../database/index.ts";
import { spellingsOfEmail } from "../../security/index.ts";
import {
  type Authenticatable,
  type AuthenticatableClass,
  closedColumnOf,
  type UserId,
} from "../users/authenticatable.ts";
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

/** The search text. */
export interface SpelledText {
  /** In its normal form. */
  readonly normal: string;
  /** What was typed. */
  readonly typed: string;
  /** Returns a text's normal form; `null` if it doesn't have one. */
  readonly normalize: (text: string) => string | null;
}

/**
 * The row with the text's normal form; otherwise an older row with another spelling of it. It is one query, and which
 * one depends only on the typed text, so its time doesn't reveal whether there is an account. A closed account is not
 * found.
 *
 * @param column if it is `email`, the text is an address
 */
export async function findBySpelling<M extends Model>(
  model: ModelClass<M>,
  column: string,
  { normal, typed, normalize }: SpelledText,
): Promise<M | null> {
  // Text that no database can store isn't in any row.
  const spellings = new Set(
    [...(column === "email" ? spellingsOfEmail(normal) : [normal]), typed].filter(
      (text) => !text.includes("\0") && text.isWellFormed(),
    ),
  );
  if (spellings.size === 0) return null;
  const closed = closedColumnOf(model);
  const rows = model.rows().whereIn(column as never, [...spellings]);
  const found =
    spellings.size === 1 && closed === null
      ? [await model.findBy(column as never, normal)]
      : await (closed === null ? rows : rows.whereNull(closed as never)).get();
  const own = (user: M | null) => String((user as Record<string, unknown> | null)?.[column]);
  // Some columns treat different texts as equal, for example in accents. Attempts are counted by the normal form, so each
  // variant would allow more attempts at the same account.
  return found.find((user) => own(user) === normal) ?? found.find((user) => normalize(own(user)) === normal) ?? null;
}
