import { codeOf } from "./existing-files.ts";

/** The variables that hold the keys of one driver of `config/api.ts`. */
export interface JwtKeyNames {
  /** The private key that signs. */
  readonly current: string;
  /** The private key that will sign next; until then it only verifies. */
  readonly next: string;
  /** The public keys of former ones. */
  readonly previous: string;
  /** Whether `config/api.ts` reads them. */
  readonly isRead: boolean;
}

/** A secret for HMAC, which is never replaced by a private key: both may be needed during a change of algorithms. */
const HMAC_SECRET = "JWT_SECRET";

/**
 * The names of the variables that a driver reads its keys from: the one in `secret: env("…")`, and the two beside it. For
 * `JWT_PRIVATE_KEY` these are `JWT_NEXT_KEY` and `JWT_PREVIOUS_KEYS`.
 *
 * @param root the application's folder
 * @param driver the driver's name in `DRIVERS`
 */
export async function jwtKeyNames(root: string, driver: string): Promise<JwtKeyNames> {
  const code = (await codeOf(root, "config/api.ts")) || (await codeOf(root, "config/api.js"));
  const entry = new RegExp(`["']?\\b${driver}\\b["']?\\s*:\\s*\\{`).exec(code);
  const secret = entry === null ? null : /\bsecret\s*:\s*env\(\s*["'`](\w+)["'`]/.exec(code.slice(entry.index));
  const own = secret?.[1] ?? HMAC_SECRET;
  const current = own === HMAC_SECRET ? `${driver.toUpperCase().replaceAll(/\W/g, "_")}_PRIVATE_KEY` : own;
  const base = current.replace(/_(?:PRIVATE_KEY|SIGNING_KEY|KEY|SECRET)$/, "");
  const [next, previous] = [`${base}_NEXT_KEY`, `${base}_PREVIOUS_KEYS`];
  const isRead = [current, next, previous].every((name) => new RegExp(`\\b${name}\\b`).test(code));
  return { current, next, previous, isRead };
}
