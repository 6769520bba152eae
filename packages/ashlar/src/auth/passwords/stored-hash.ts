/** Stored for a password that was revoked: no password has this hash. */
export const NO_PASSWORD = "!";

/** The hash in a user's column; `null` if the account has no password, or the column is empty. */
export function storedHash(column: string | null | undefined): string | null {
  return column === undefined || column === "" || column === NO_PASSWORD ? null : column;
}
