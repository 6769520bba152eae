import type { QueryParameters } from "../../http/index.ts";
import { digest, digestEquals } from "../../security/index.ts";
import { AshlarError, now, nowInSeconds } from "../../support/index.ts";
import type { ValueSigner } from "../patterns/compilers.ts";
import { joinPairs, queryPairs } from "./url.ts";
import "../errors.ts";

/** The data in a signed URL besides its route and parameters. */
export interface SignedUrlOptions {
  /** How long it is valid, in minutes, greater than 0; default: it never expires. */
  readonly expiresInMinutes?: number;
  /** Its query; `expires` and `signature` are reserved. */
  readonly query?: QueryParameters;
}

type Pair = readonly [name: string, value: string];

const SIGNATURE = "signature";
const EXPIRES = "expires";
/**
 * Because of this label, a signed URL isn't accepted as a signed parameter, even if both are signed with the same key.
 */
const LABEL = "url:";

/**
 * Signs a URL: adds `expires` (a NumericDate) if it expires, and `signature`.
 *
 * @throws `E_INVALID_ROUTE_PARAMETER`
 */
export function signUrl(url: string, options: SignedUrlOptions, signer: ValueSigner): string {
  const pairs: Pair[] = queryPairs(options.query ?? {});
  if (pairs.some(([name]) => name === SIGNATURE || name === EXPIRES)) {
    throw new AshlarError("E_INVALID_ROUTE_PARAMETER", `"${SIGNATURE}" and "${EXPIRES}" are reserved in signed URLs.`);
  }
  if (options.expiresInMinutes !== undefined) pairs.push([EXPIRES, String(endOf(options.expiresInMinutes))]);
  const signature = signer.sign(LABEL + fingerprint(pathOf(url), pairs));
  return `${url}?${joinPairs([...pairs, [SIGNATURE, signature]])}`;
}

/**
 * Reports whether a URL has a valid signature and has not expired. The host and the order of the query are ignored. A
 * name that appears twice in the query is refused, because parsers differ in which of the two values they use.
 */
export function hasValidSignature(url: string, signer: ValueSigner): boolean {
  const target = targetOf(url);
  const question = target.indexOf("?");
  if (question === -1) return false;
  const all = [...new URLSearchParams(target.slice(question + 1))];
  const byName = new Map(all);
  const signature = byName.get(SIGNATURE);
  if (signature === undefined || byName.size < all.length) return false;
  const pairs = all.filter(([name]) => name !== SIGNATURE);
  const signed = signer.verify(signature);
  if (signed === null || !digestEquals(signed, LABEL + fingerprint(target.slice(0, question), pairs))) return false;
  const expires = byName.get(EXPIRES);
  return expires === undefined || nowInSeconds() < Number(expires);
}

function endOf(minutes: number): number {
  const end = Math.floor(now() / 1000 + minutes * 60);
  if (Number.isFinite(minutes) && minutes > 0 && Number.isSafeInteger(end)) return end;
  throw new AshlarError("E_INVALID_ROUTE_PARAMETER", "expiresInMinutes must be a finite number above 0.");
}

/** Equal for URLs with the same path and query, in whatever order. */
function fingerprint(path: string, pairs: readonly Pair[]): string {
  const sorted = pairs.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return digest(`${path}?${joinPairs(sorted)}`);
}

function pathOf(url: string): string {
  return targetOf(url).split("?", 1)[0]!;
}

/** Returns path and query of a URL, absolute or not, without the fragment. */
function targetOf(url: string): string {
  return url.replace(/#.*$/s, "").replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?]*/, "");
}
