import { createHmac, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { tryVerifyJwt, VerificationKey } from "../../src/security/jwt/index.ts";

/** A key pair. */
export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const SECRET: Buffer = randomBytes(64);
export const KEY: VerificationKey = new VerificationKey("HS512", SECRET);
export const NOW: number = 1_700_000_000;
/** As strict as the framework is with its own tokens. */
export const AT: { readonly clock: () => number; readonly exactTyp: true } = { clock: () => NOW, exactTyp: true };
export const HEADER: string = '{"alg":"HS512","typ":"JWT"}';
export const RSA: KeyPair = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const EC: KeyPair = generateKeyPairSync("ec", { namedCurve: "P-256" });

export function segment(text: string | Uint8Array): string {
  return Buffer.from(text as string).toString("base64url");
}

/** A token with a valid signature over the given segments. */
export function seal(header: string, payload: string, secret: Uint8Array = SECRET, hash = "sha512"): string {
  const input = `${header}.${payload}`;
  return `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`;
}

/** A token with a valid signature over the given texts. */
export function forge(claims: string | Uint8Array, header: string | Uint8Array = HEADER): string {
  return seal(segment(header), segment(claims));
}

export function judge(token: unknown, keys: VerificationKey | readonly VerificationKey[] = KEY, options = {}): string {
  const outcome = tryVerifyJwt(token as string, keys, { ...AT, ...options });
  return "failure" in outcome ? outcome.failure : "accepted";
}
