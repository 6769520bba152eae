import { amrOf, type LoginMethod } from "../auth/index.ts";
import type { JwtClaims } from "../security/jwt/index.ts";

/** When a token's user proved who they are, and by what, as claims. */
export interface TokenAuthentication {
  /** In seconds since 1970 (OpenID Connect Core 1.0 §2). */
  readonly auth_time: number;
  /** The methods, in the values of RFC 8176: `["pwd", "otp", "mfa"]`. */
  readonly amr: readonly string[];
}

/** The claims of a login; `null` if nothing was proved, as for `loginAs`. */
export function authenticationOf(methods: readonly LoginMethod[]): TokenAuthentication | null {
  const [first] = methods;
  return first === undefined ? null : { auth_time: Math.floor(first.at.getTime() / 1000), amr: amrOf(methods) };
}

/** The claims in a token that was issued here; `null` if it has none. */
export function authenticationIn({ auth_time, amr }: JwtClaims): TokenAuthentication | null {
  return typeof auth_time === "number" && Array.isArray(amr) ? { auth_time, amr } : null;
}
