import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import {
  type JwtAlgorithm,
  jwks,
  SigningKey,
  signJwt,
  tryVerifyJwt,
  VerificationKey,
} from "../../src/security/jwt/index.ts";

/** An algorithm, and what our library and another one need for it. */
export interface TokenParty {
  readonly algorithm: JwtAlgorithm;
  readonly isSecret: boolean;
  /** The secret as text, or the private key as PEM. */
  readonly privateText: string;
  /** The secret as text, or the public key as PEM. */
  readonly publicText: string;
  readonly privateKey: KeyObject | null;
  readonly publicKey: KeyObject | null;
  readonly signing: SigningKey;
  readonly verification: VerificationKey;
}

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ED25519 = generateKeyPairSync("ed25519");

const PAIRS: readonly [JwtAlgorithm, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }][] = [
  ["RS256", RSA],
  ["RS384", RSA],
  ["RS512", RSA],
  ["PS256", RSA],
  ["PS384", RSA],
  ["PS512", RSA],
  ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
  ["ES384", generateKeyPairSync("ec", { namedCurve: "P-384" })],
  ["ES512", generateKeyPairSync("ec", { namedCurve: "P-521" })],
  ["EdDSA", ED25519],
  ["Ed25519", ED25519],
  ["Ed448", generateKeyPairSync("ed448")],
];

/** A party for every algorithm. */
export const TOKEN_PARTIES: readonly TokenParty[] = [
  ...(["HS256", "HS384", "HS512"] as const).map((algorithm): TokenParty => {
    const secret = randomBytes(64).toString("base64url");
    return {
      ...{ algorithm, isSecret: true, privateText: secret, publicText: secret, privateKey: null, publicKey: null },
      signing: new SigningKey(algorithm, secret),
      verification: new VerificationKey(algorithm, secret),
    };
  }),
  ...PAIRS.map(([algorithm, { privateKey }]): TokenParty => {
    const publicKey = createPublicKey(privateKey);
    return {
      ...{ algorithm, isSecret: false, privateKey, publicKey },
      privateText: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      publicText: publicKey.export({ format: "pem", type: "spki" }).toString(),
      signing: new SigningKey(algorithm, privateKey),
      verification: new VerificationKey(algorithm, publicKey),
    };
  }),
];

/** The tokens' claims: non-ASCII text, and numbers. */
export const CLAIMS: Readonly<Record<string, unknown>> = {
  sub: "42",
  name: "Zoë 😀",
  nested: { list: [1, 2.5, null] },
};

/** A token signed by us, valid for an hour. */
export function ourToken({ signing }: TokenParty): string {
  return signJwt({ ...CLAIMS, exp: Math.floor(Date.now() / 1000) + 3600 }, signing);
}

/** A token with another payload behind the same signature. */
export function forgedFrom(token: string): string {
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  const other = Buffer.from(JSON.stringify({ ...claims, sub: "1" })).toString("base64url");
  return `${header}.${other}.${signature}`;
}

/** Our result for a token: its claims without times, or why it was refused. */
export function judgedByUs({ verification }: TokenParty, token: string): unknown {
  const outcome = tryVerifyJwt(token, verification);
  return "failure" in outcome ? outcome.failure : withoutTimes(outcome.claims);
}

/** Claims without the ones added by a library. */
export function withoutTimes(claims: object): object {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => name !== "iat" && name !== "exp"));
}

/** The key set that we publish for the parties with a key pair. */
export function publishedKeys(parties: readonly TokenParty[] = TOKEN_PARTIES): { readonly keys: object[] } {
  const keys = parties.filter(({ isSecret }) => !isSecret).map(({ verification }) => verification);
  return JSON.parse(JSON.stringify(jwks(keys))) as { readonly keys: object[] };
}
