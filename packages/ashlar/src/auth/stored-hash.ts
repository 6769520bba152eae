/** What is stored for a password that was voided: no password has this hash. */
export const NO_PASSWORD = "!";

/** The hash that a user's column holds; `null` if it is the mark of an account without a password, or nothing at all. */
export function storedHash(column: string | null | undefined): string | null {
  return column === undefined || column === "" || column === NO_PASSWORD ? null : column;
}
