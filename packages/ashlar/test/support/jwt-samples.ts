import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { type JwtAlgorithm, VerificationKey } from "../../src/security/jwt/index.ts";

/** The time at which tokens are verified, in seconds. */
export const NOW: number = 1_700_000_000;

/** The same sequence in every run, so that a difference can be reproduced (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = generator(20261120);
const below = (count: number): number => Math.floor(random() * count);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;

/** A signer, and a verifier for each of the two libraries. */
export interface Party {
  readonly algorithm: JwtAlgorithm;
  readonly sign: (input: string) => string;
  readonly ours: VerificationKey;
  readonly jose: Uint8Array | KeyObject;
}

function hmacParty(algorithm: JwtAlgorithm, hash: string): Party {
  const secret = randomBytes(64);
  return {
    algorithm,
    sign: (input) => createHmac(hash, secret).update(input).digest("base64url"),
    ours: new VerificationKey(algorithm, secret),
    jose: new Uint8Array(secret),
  };
}

function pairParty(
  algorithm: JwtAlgorithm,
  hash: string | null,
  keys: { privateKey: KeyObject; publicKey: KeyObject },
): Party {
  return {
    algorithm,
    sign: (input) =>
      sign(hash, Buffer.from(input), { key: keys.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url"),
    ours: new VerificationKey(algorithm, keys.publicKey),
    jose: keys.publicKey,
  };
}

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const HMAC = [hmacParty("HS256", "sha256"), hmacParty("HS384", "sha384"), hmacParty("HS512", "sha512")];
const PAIRS = [
  pairParty("ES256", "sha256", generateKeyPairSync("ec", { namedCurve: "P-256" })),
  pairParty("EdDSA", null, generateKeyPairSync("ed25519")),
  pairParty("RS256", "sha256", RSA),
];
/** Signs with an untrusted key, without the token showing it. */
const STRANGERS = new Map<Party, Party>([
  ...HMAC.map(
    (party, index) => [party, hmacParty(party.algorithm, ["sha256", "sha384", "sha512"][index] ?? "")] as const,
  ),
  ...PAIRS.map(
    (party, index) =>
      [
        party,
        pairParty(
          party.algorithm,
          ["sha256", null, "sha256"][index] ?? null,
          index === 0
            ? generateKeyPairSync("ec", { namedCurve: "P-256" })
            : index === 1
              ? generateKeyPairSync("ed25519")
              : generateKeyPairSync("rsa", { modulusLength: 2048 }),
        ),
      ] as const,
  ),
]);

const encode = (text: string): string => Buffer.from(text).toString("base64url");

function seal(party: Party, header: string, payload: string): string {
  const input = `${header}.${payload}`;
  return `${input}.${party.sign(input)}`;
}

const TIMES = [0, -1, 1, NOW - 1, NOW, NOW + 1, NOW + 3600, NOW + 0.5, 1e15];
const WRONG_TIMES = ["null", '"1900000000"', "true", "[]", "{}", "1e400", "-1e400", '""'];

/** Claims that are valid at NOW, written as JSON. */
function validClaims(): Record<string, unknown> {
  return {
    sub: String(below(100_000)),
    jti: Math.floor(random() * 2 ** 50).toString(36),
    ...(random() < 0.7 ? { iat: NOW - below(1000) } : {}),
    ...(random() < 0.7 ? { exp: NOW + 1 + below(100_000) } : {}),
    ...(random() < 0.3 ? { nbf: NOW - below(1000) } : {}),
    ...(random() < 0.3 ? { ver: pick([1, "a", null]) } : {}),
    ...(random() < 0.3
      ? { name: pick(["Zoë", "名前", "\u{1f511}", 'a "quoted" \\ name', "\uFFFD", "__proto__"]) }
      : {}),
    ...(random() < 0.1 ? { nested: { list: [1, { a: null }], text: "x".repeat(below(200)) } } : {}),
  };
}

/** A payload whose claims are at a limit, or in an unusual spelling. */
function edgeClaims(): string {
  const claims = JSON.stringify(validClaims()).slice(1, -1);
  const time = pick(["exp", "nbf", "iat"]);
  return pick([
    () => `{${claims},"${time}":${pick(TIMES)}}`,
    () => `{${claims},"${time}":${pick(WRONG_TIMES)}}`,
    () => `{${claims},"sub":${pick(["null", "1", '""', "[]", '"x"'])}}`,
    () => `{"${pick(["iss", "aud", "jti"])}":${pick(["null", "1", '"x"', '["x"]', "[1]", "{}"])},${claims}}`,
    () => `{"exp":${NOW + 50}}`,
    () => ` \n{${claims.replaceAll(":", " :\t")}}\r\n`,
    () => `{"__proto__":{"a":1},${claims}}`,
    () => `{${claims},"\\u0065xp":${pick(TIMES)}}`,
    () => pick(["[]", "null", '"text"', "5", "", "{", `{${claims}}x`, `\uFEFF{${claims}}`, "{'a':1}"]),
  ])();
}

const HEADERS: readonly ((alg: string) => string)[] = [
  (alg) => `{"typ":"JWT","alg":"${alg}"}`,
  (alg) => ` { "alg" : "${alg}" ,\n "typ" : "JWT" } `,
  (alg) => `{"alg":"${alg}","typ":"JWT","kid":"${pick(["1", "../x", "' OR 1=1"])}"}`,
  (alg) => `{"alg":"${alg}","typ":"JWT","jku":"https://attacker.example","x5u":"https://attacker.example"}`,
  (alg) => `{"alg":"${alg}","typ":"JWT","jwk":{"kty":"oct","k":"AAAA"}}`,
  (alg) => `{"alg":"${alg}"}`,
  (alg) => `{"alg":"${alg}","typ":${pick(['"jwt"', '"at+jwt"', '"application/jwt"', "null", "1", '""'])}}`,
  (alg) => `{"alg":"${alg}","typ":"JWT","crit":${pick(["null", "[]", '["exp"]', '["b64"]', '"exp"'])}}`,
  (alg) => `{"alg":"${alg}","typ":"JWT","b64":${pick(["true", "false", "null"])}}`,
  (alg) => `{"alg":"${alg}","typ":"JWT","crit":["b64"],"b64":${pick(["true", "false"])}}`,
  (alg) => `{"alg":"${alg}","alg":"${pick(["none", "HS256", "RS256"])}","typ":"JWT"}`,
  (alg) => `{"alg":"none","alg":"${alg}","typ":"JWT"}`,
  () =>
    `{"alg":"${pick(["none", "None", "HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA", "PS256"])}","typ":"JWT"}`,
  () => '{"typ":"JWT"}',
  () => `{"alg":${pick(["null", "256", '["HS256"]', "{}"])},"typ":"JWT"}`,
  () => pick(["[]", "null", "{", "", '"JWT"']),
];

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Ways to tamper with a signed token. */
export const MUTATIONS: Readonly<Record<string, (token: string, other: string, party: Party) => string>> = {
  "one character": (token) => {
    const at = below(token.length);
    return token.slice(0, at) + pick([...ALPHABET]) + token.slice(at + 1);
  },
  "one bit of the signature": (token) => {
    const dot = token.lastIndexOf(".") + 1;
    const signature = Buffer.from(token.slice(dot), "base64url");
    const bit = below(signature.length * 8);
    signature[bit >> 3]! ^= 1 << (bit & 7);
    return token.slice(0, dot) + signature.toString("base64url");
  },
  "the last character": (token) => token.slice(0, -1) + pick([...ALPHABET]),
  "a foreign character": (token) => {
    const at = below(token.length + 1);
    return (
      token.slice(0, at) + pick(["+", "/", "=", " ", "\n", "\0", "%", "\u0141", "é", "."]) + token.slice(at + below(2))
    );
  },
  "the low byte alike": (token) => {
    const at = below(token.length);
    return token.slice(0, at) + String.fromCharCode(0x100 + token.charCodeAt(at)) + token.slice(at + 1);
  },
  padding: (token) =>
    token
      .split(".")
      .map((part) => (random() < 0.5 ? part : part.padEnd(part.length + 1 + below(2), "=")))
      .join("."),
  "case of a letter": (token) => {
    const at = below(token.length);
    const character = token.charAt(at);
    const swapped = character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase();
    return token.slice(0, at) + swapped + token.slice(at + 1);
  },
  truncated: (token) => token.slice(0, below(token.length)),
  extended: (token) => token + pick(["A", ".", "..", ".AA", "AAAA", " ", "="]),
  "segments swapped": (token) => {
    const parts = token.split(".");
    return (
      [
        [1, 0, 2],
        [0, 2, 1],
        [2, 1, 0],
        [1, 2, 0],
      ][below(4)]
        ?.map((index) => parts[index])
        .join(".") ?? ""
    );
  },
  "segments of another token": (token, other) => {
    const [a, b] = [token.split("."), other.split(".")];
    return pick([
      [a[0], b[1], a[2]],
      [a[0], a[1], b[2]],
      [b[0], a[1], a[2]],
      [b[0], b[1], a[2]],
    ]).join(".");
  },
  "header edited": (token, _, party) => {
    const [, payload, signature] = token.split(".");
    return `${encode(pick(HEADERS)(party.algorithm))}.${payload}.${signature}`;
  },
  "algorithm none": (token) => {
    const [, payload, signature] = token.split(".");
    return `${encode(`{"alg":"${pick(["none", "None", "NONE"])}","typ":"JWT"}`)}.${payload}.${pick(["", signature])}`;
  },
  "payload edited": (token) => {
    const [header, , signature] = token.split(".");
    return `${header}.${encode(JSON.stringify({ sub: "1", exp: NOW + 9999 }))}.${signature}`;
  },
  "HMAC with the public key": (token) => {
    const payload = token.split(".")[1] ?? "";
    const input = `${encode(`{"alg":"${pick(["HS256", "RS256"])}","typ":"JWT"}`)}.${payload}`;
    const pem = RSA.publicKey.export({ type: "spki", format: "pem" });
    return `${input}.${createHmac("sha256", pem).update(input).digest("base64url")}`;
  },
};

/** A token, and how it was created. */
export interface Sample {
  readonly kind: string;
  readonly party: Party;
  readonly token: string;
  /** Whether it was created to be valid, and not changed since. */
  readonly sound: boolean;
}

/** Creates the next token of the sequence. */
export function sample(): Sample {
  const party = random() < 0.96 ? pick(HMAC) : pick(PAIRS);
  const header = encode(`{"alg":"${party.algorithm}","typ":"JWT"}`);
  const claims = (): string => encode(JSON.stringify(validClaims()));
  const choice = random();
  if (choice < 0.25) return { kind: "valid", party, token: seal(party, header, claims()), sound: true };
  if (choice < 0.37)
    return { kind: "claims at an edge", party, token: seal(party, header, encode(edgeClaims())), sound: false };
  if (choice < 0.49) {
    const odd = encode(pick(HEADERS)(party.algorithm));
    return { kind: "signed with another header", party, token: seal(party, odd, claims()), sound: false };
  }
  if (choice < 0.53) {
    const stranger = STRANGERS.get(party) ?? party;
    return { kind: "signed with another key", party, token: seal(stranger, header, claims()), sound: false };
  }
  if (choice < 0.58) {
    const spelling = pick(["=", "==", " ", "\n", "A", "+"]);
    const parts = [header, claims()];
    parts[below(2)] += spelling;
    return {
      kind: "signed in another spelling",
      party,
      token: seal(party, parts[0] ?? "", parts[1] ?? ""),
      sound: false,
    };
  }
  const token = seal(party, header, claims());
  const other = seal(pick(HMAC), header, claims());
  const [kind, mutate] = pick(Object.entries(MUTATIONS));
  const mutated = mutate(token, other, party);
  return { kind, party, token: mutated, sound: mutated === token };
}
