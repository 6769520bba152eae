import type { UserId } from "../users/authenticatable.ts";

/** A text that one user has in a column. */
export interface StoredText {
  readonly id: UserId;
  readonly column: string;
  readonly stored: string;
}

/** A user's text that is stored in another spelling than its normal form. */
export interface OtherSpelling extends StoredText {
  readonly normal: string;
}

/** Returns a text's normal form; `null` if it doesn't have one. */
export type NormalForm = (text: string) => string | null;

/** The spellings of the users of one guard, or of several guards with the same users. */
export interface SpelledUsers {
  /** Who they are, for messages: `the table users`. */
  readonly what: string;
  /** The columns that users are found by, with their normal forms. */
  readonly columns: ReadonlyMap<string, NormalForm>;
  /** Goes through all users in batches, until the signal is aborted. */
  visit(visit: (texts: readonly StoredText[]) => void, signal?: AbortSignal): Promise<void>;
  /** The users that have one of these texts, exactly as they are given. */
  holders(column: string, normals: readonly string[]): Promise<readonly StoredText[]>;
  /**
   * Stores the normal forms. Access to the accounts doesn't end, as far as possible.
   *
   * @returns the stored users, except those whose text or access epoch has changed since, or whose normal form is
   *   another user's
   */
  mend(spellings: readonly OtherSpelling[]): Promise<readonly OtherSpelling[]>;
}

/** The findings about users' spellings. */
export interface SpellingReport {
  /** Users whose identifiers can be normalized. */
  readonly others: readonly OtherSpelling[];
  /** Users that share a text in different spellings. Only a person can decide which of them keeps it. */
  readonly collisions: readonly (readonly StoredText[])[];
  /** Addresses that mail software can read as something else, and that are no longer accepted. */
  readonly refused: readonly StoredText[];
}

/** How many users are looked up, and written, at a time. */
export const BATCH = 200;
