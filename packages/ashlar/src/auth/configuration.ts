/** The exports of `config/auth.ts`. */
export const AUTH_EXPORTS: readonly string[] = ["GUARDS", "ACCOUNTS", "PASSWORDS"];
