/** What `config/auth.ts` exports. */
export const AUTH_EXPORTS: readonly string[] = ["GUARDS", "ACCOUNTS", "PASSWORDS"];
