import { createHmac, createSecretKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  createSigningKey,
  createVerificationKey,
  type JwtAlgorithm,
  type JwtClaims,
  type KeyMaterial,
  signJwt,
  tryVerifyJwt,
  type VerificationKey,
  verifyJws,
} from "../../src/security/jwt/index.ts";

const SECRET = randomBytes(64);
const KEY = createVerificationKey("HS512", SECRET);
const NOW = 1_700_000_000;
const AT = { clock: () => NOW };
const HEADER = '{"alg":"HS512","typ":"JWT"}';
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" });

function segment(text: string | Uint8Array): string {
  return Buffer.from(text as string).toString("base64url");
}

/** A token with a right signature over segments as they are handed in. */
function seal(header: string, payload: string, secret: Uint8Array = SECRET, hash = "sha512"): string {
  const input = `${header}.${payload}`;
  return `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`;
}

/** A token with a right signature over texts as they are handed in. */
function forge(claims: string | Uint8Array, header: string | Uint8Array = HEADER): string {
  return seal(segment(header), segment(claims));
}

function judge(token: unknown, keys: VerificationKey | readonly VerificationKey[] = KEY, options = {}): string {
  const outcome = tryVerifyJwt(token as string, keys, { ...AT, ...options });
  return "failure" in outcome ? outcome.failure : "accepted";
}

afterEach(() => vi.restoreAllMocks());

describe("S1 the algorithm", () => {
  const names: JwtAlgorithm[] = ["HS256", "HS384", "HS512"];

  test("S1 a token of another algorithm with a right signature of the same secret is refused", () => {
    for (const configured of names) {
      const key = createVerificationKey(configured, SECRET);
      expect(names.map((name) => judge(signJwt({}, createSigningKey(name, SECRET), { now: NOW }), key))).toEqual(
        names.map((name) => (name === configured ? "accepted" : "algorithm")),
      );
    }
  });

  test("S1 none in any case, with or without a signature, is refused", () => {
    for (const alg of ["none", "None", "NONE", "nOnE", "none ", ""]) {
      const header = segment(JSON.stringify({ alg, typ: "JWT" }));
      expect(judge(`${header}.${segment("{}")}.`)).toBe("algorithm");
      expect(judge(seal(header, segment("{}")))).toBe("algorithm");
      expect(judge(seal(header, segment("{}"), Buffer.alloc(0)))).toBe("algorithm");
    }
  });

  test("S1 none in any case cannot be configured", () => {
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      for (const create of [createSigningKey, createVerificationKey]) {
        expect(() => create(alg as JwtAlgorithm, SECRET)).toThrow(expect.objectContaining({ code: "E_JWT_ALGORITHM" }));
      }
    }
  });

  test("S1 an algorithm that is no text, or comes from a prototype, is refused", () => {
    for (const alg of [null, 512, true, ["HS512"], { HS512: 1 }, { toString: "HS512" }]) {
      expect(judge(forge("{}", JSON.stringify({ alg, typ: "JWT" })))).toBe("algorithm");
    }
    expect(judge(forge("{}", '{"__proto__":{"alg":"HS512"},"typ":"JWT"}'))).toBe("malformed");
    expect(judge(forge("{}", '{"Alg":"HS512","typ":"JWT"}'))).toBe("algorithm");
  });

  test("S1 of two members alg the last is the one that counts, as it is for whoever signed", () => {
    expect(judge(forge("{}", '{"alg":"HS512","alg":"HS256","typ":"JWT"}'))).toBe("algorithm");
    expect(judge(forge("{}", '{"alg":"HS256","\\u0061lg":"HS512","typ":"JWT"}'))).toBe("accepted");
  });
});

describe("S2 a key and its family", () => {
  const publicPem = RSA.publicKey.export({ type: "spki", format: "pem" }).toString();
  const publicJwk = RSA.publicKey.export({ format: "jwk" });

  test("S2 a token signed by HMAC with the public key, in any form of it, is refused by that public key", () => {
    const forms = [
      publicPem,
      publicPem.trim(),
      RSA.publicKey.export({ type: "spki", format: "der" }),
      RSA.publicKey.export({ type: "pkcs1", format: "der" }),
      RSA.publicKey.export({ type: "pkcs1", format: "pem" }),
      JSON.stringify(publicJwk),
      publicJwk.n ?? "",
    ];
    for (const algorithm of ["RS256", "RS512", "PS256"] as const) {
      const key = createVerificationKey(algorithm, publicPem);
      for (const form of forms) {
        for (const alg of ["HS256", "HS512", algorithm]) {
          const header = segment(JSON.stringify({ alg, typ: "JWT" }));
          const token = seal(header, segment("{}"), Buffer.from(form as string), "sha256");
          expect(judge(token, key)).toBe(alg === algorithm ? "signature" : "algorithm");
        }
      }
    }
  });

  test("S2 a secret that is a key, a JWK or a set of them ends the boot", () => {
    const forms: KeyMaterial[] = [
      publicPem,
      `\n\t ${publicPem}`,
      `prefix-----BEGIN${"x".repeat(80)}`,
      Buffer.from(publicPem),
      createSecretKey(Buffer.from(publicPem)),
      RSA.publicKey,
      RSA.privateKey,
      publicJwk,
      JSON.stringify(publicJwk),
      JSON.stringify({ keys: [publicJwk] }),
      JSON.stringify({ kty: "oct", k: SECRET.toString("base64url") }),
      ` ${JSON.stringify({ keys: [] }).padEnd(100)}`,
    ];
    for (const form of forms) {
      for (const create of [createSigningKey, createVerificationKey]) {
        expect(() => create("HS512", form)).toThrow(expect.objectContaining({ code: "E_JWT_KEY", status: 500 }));
      }
    }
  });

  test("S2 a secret that is empty or shorter than the hash ends the boot, and its message does not quote it", () => {
    const least = { HS256: 32, HS384: 48, HS512: 64 } as const;
    for (const [algorithm, bytes] of Object.entries(least) as [JwtAlgorithm, number][]) {
      for (const length of [0, 1, bytes - 1]) {
        for (const create of [createSigningKey, createVerificationKey]) {
          expect(() => create(algorithm, "q".repeat(length))).toThrow(
            expect.objectContaining({ code: "E_WEAK_SECRET", message: expect.not.stringContaining("qq") }),
          );
        }
      }
      expect(createVerificationKey(algorithm, "q".repeat(bytes)).algorithm).toBe(algorithm);
    }
  });

  test("S2 a secret and a public key never verify the same tokens", () => {
    const mixed = [KEY, createVerificationKey("ES256", EC.publicKey)];
    const token = signJwt({}, createSigningKey("HS512", SECRET), { now: NOW });
    expect(judge(token)).toBe("accepted");
    for (const keys of [mixed, mixed.toReversed()]) {
      expect(() => tryVerifyJwt(token, keys, AT)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    }
  });

  test("S2 an ECDSA signature in DER, or of another curve, is refused", () => {
    const key = createVerificationKey("ES256", EC.publicKey);
    const input = `${segment('{"alg":"ES256","typ":"JWT"}')}.${segment("{}")}`;
    const token = (signature: Buffer) => `${input}.${signature.toString("base64url")}`;
    const raw = sign("sha256", Buffer.from(input), { key: EC.privateKey, dsaEncoding: "ieee-p1363" });
    expect(judge(token(raw), key)).toBe("accepted");
    expect(judge(token(sign("sha256", Buffer.from(input), EC.privateKey)), key)).toBe("signature");
    expect(judge(token(Buffer.concat([raw, Buffer.alloc(1)])), key)).toBe("signature");
    expect(judge(token(Buffer.concat([Buffer.alloc(1), raw])), key)).toBe("signature");
    expect(judge(token(Buffer.alloc(64)), key)).toBe("signature");
    expect(judge(token(Buffer.alloc(0)), key)).toBe("signature");
  });
});

describe("S3 the signature", () => {
  test("S3 nothing of the payload is read before the signature is right", () => {
    const parse = vi.spyOn(JSON, "parse");
    const token = forge('{"sub":"1"}');
    const flipped = `${token.slice(0, -2)}${token.at(-2) === "A" ? "B" : "A"}${token.at(-1)}`;
    expect(judge(flipped)).toBe("signature");
    expect(parse).not.toHaveBeenCalled();
    expect(judge(token)).toBe("accepted");
    expect(parse.mock.calls).toEqual([['{"sub":"1"}']]);
  });

  test("S3 a payload that no verifier could read is refused for its signature where that is wrong", () => {
    for (const payload of ["not json", '{"exp":"x"}', "[]", '{"__proto__":1}']) {
      expect(judge(forge(payload).replace(/.{20}$/, "A".repeat(20)))).toBe("signature");
    }
  });

  test("S3 the signature of one token does not serve another", () => {
    const one = forge('{"sub":"1"}').split(".");
    const two = forge('{"sub":"2"}').split(".");
    expect(judge(`${one[0]}.${two[1]}.${one[2]}`)).toBe("signature");
    expect(judge(`${one[0]}.${one[1]}.${two[2]}`)).toBe("signature");
    expect(judge(`${one[1]}.${one[0]}.${one[2]}`)).toBe("algorithm");
  });

  test("S3 the codes are compared with the comparison of node:crypto, whose time does not depend on them", () => {
    const source = readFileSync(join(import.meta.dirname, "../../src/security/jwt/hmac.ts"), "utf8");
    expect(source).toMatch(/return timingSafeEqual\(/);
    expect(source).not.toMatch(/\.(equals|compare)\(|code ===|=== code/);
  });

  test("S3 any one bit of the signature changed refuses the token", () => {
    const token = forge("{}");
    const dot = token.lastIndexOf(".") + 1;
    const signature = Buffer.from(token.slice(dot), "base64url");
    for (let bit = 0; bit < signature.length * 8; bit++) {
      const changed = Buffer.from(signature);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(judge(token.slice(0, dot) + changed.toString("base64url"))).toBe("signature");
    }
  });
});

describe("S4 which key", () => {
  const attacker = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const members = {
    jwk: attacker.publicKey.export({ format: "jwk" }),
    jku: "https://attacker.example/keys",
    x5u: "https://attacker.example/certificate",
    x5c: ["MIIB"],
    kid: "../../etc/passwd' OR 1=1 --",
  };

  test("S4 a token that brings its own key, or says where it is, is verified with the configured key", () => {
    const key = createVerificationKey("ES256", EC.publicKey);
    for (const [name, value] of Object.entries(members)) {
      const header = segment(JSON.stringify({ alg: "ES256", typ: "JWT", [name]: value }));
      const input = `${header}.${segment("{}")}`;
      const signedBy = (pair: typeof EC) =>
        `${input}.${sign("sha256", Buffer.from(input), { key: pair.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
      expect(judge(signedBy(attacker), key)).toBe("signature");
      expect(judge(signedBy(EC), key)).toBe("accepted");
    }
  });

  test("S4 kid chooses no key: a token that names another key is verified by the one that signed it", () => {
    const named = (kid: string, k: Uint8Array) =>
      createVerificationKey("HS512", { kty: "oct", kid, k: Buffer.from(k).toString("base64url") });
    const keys = [named("new", randomBytes(64)), named("old", SECRET)];
    for (const kid of ["new", "old", "none of them", 5, null]) {
      expect(judge(forge("{}", JSON.stringify({ alg: "HS512", typ: "JWT", kid })), keys)).toBe("accepted");
    }
  });

  test("S4 of the keys for rotation all verify, and one that is taken out no longer does", () => {
    const [older, newer] = [randomBytes(64), randomBytes(64)];
    const keys = [createVerificationKey("HS512", newer), createVerificationKey("HS512", older)];
    const token = (secret: Uint8Array) => signJwt({}, createSigningKey("HS512", secret), { now: NOW });
    expect([newer, older, SECRET].map((secret) => judge(token(secret), keys))).toEqual([
      "accepted",
      "accepted",
      "signature",
    ]);
    expect(judge(token(older), keys.slice(0, 1))).toBe("signature");
  });

  test("S4 nothing in the folder can open a connection or read a file", () => {
    const folder = join(import.meta.dirname, "../../src/security/jwt");
    const files = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
    const imports = files.flatMap((name) =>
      [...readFileSync(join(folder, name), "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(
        (match) => match[1] ?? "",
      ),
    );
    expect(files.length).toBeGreaterThan(10);
    expect([...new Set(imports.filter((name) => !name.startsWith("./")))].toSorted()).toEqual([
      "../../support/index.ts",
      "node:crypto",
    ]);
    for (const name of files) expect(readFileSync(join(folder, name), "utf8")).not.toMatch(/\bfetch\(|process\.env/);
  });
});

describe("S5 extensions and other formats", () => {
  test("S5 any crit is refused, whatever it holds", () => {
    const values = [null, [], ["exp"], ["b64"], ["alg"], {}, "", "exp", 0, false];
    for (const crit of values) {
      expect(judge(forge("{}", JSON.stringify({ alg: "HS512", typ: "JWT", crit, exp: 1 })))).toBe("critical_header");
    }
    expect(judge(forge("{}", '{"alg":"HS512","typ":"JWT","\\u0063rit":[]}'))).toBe("critical_header");
  });

  test("S5 any b64 is refused, true as well as false", () => {
    for (const b64 of [false, true, null, "false", 0]) {
      const header = JSON.stringify({ alg: "HS512", typ: "JWT", b64 });
      expect(judge(forge("{}", header))).toBe("critical_header");
      expect(() => verifyJws(forge("{}", header), KEY)).toThrow(expect.objectContaining({ reason: "critical_header" }));
    }
  });

  test("S5 five parts, or any number but three, are refused before anything is parsed", () => {
    const parse = vi.spyOn(JSON, "parse");
    const part = segment('{"alg":"HS512","enc":"A256GCM"}');
    for (const parts of [1, 2, 4, 5, 6, 100]) {
      expect(judge(Array.from({ length: parts }, () => part).join("."))).toBe("malformed");
    }
    expect(judge(`${forge("{}")}.`)).toBe("malformed");
    expect(judge(`.${forge("{}")}`)).toBe("malformed");
    expect(parse).not.toHaveBeenCalled();
  });

  test("S5 a JWS in JSON serialization is refused, as a text and as an object", () => {
    const [protectedHeader, payload, signature] = forge("{}").split(".");
    const json = { payload, protected: protectedHeader, signature };
    expect(judge(JSON.stringify(json))).toBe("malformed");
    expect(judge(json)).toBe("malformed");
  });
});

describe("S6 one form only", () => {
  const variants = (part: string): Record<string, string> => ({
    padding: `${part}=`,
    "two of padding": `${part}==`,
    "a space before": ` ${part}`,
    "a space behind": `${part} `,
    "a line break inside": `${part.slice(0, 4)}\n${part.slice(4)}`,
    "a tab inside": `${part.slice(0, 4)}\t${part.slice(4)}`,
    "a null behind": `${part}\0`,
    "a percent escape": `${part.slice(0, -1)}%${part.slice(-1)}`,
    "one character too many": `${part}A`,
  });

  test("S6 another spelling of header or payload is refused even where it is signed", () => {
    const header = segment(HEADER);
    const payload = segment('{"sub":"1"}');
    expect(judge(seal(header, payload))).toBe("accepted");
    for (const spelling of Object.values(variants(header))) expect(judge(seal(spelling, payload))).toBe("malformed");
    for (const spelling of Object.values(variants(payload))) expect(judge(seal(header, spelling))).toBe("malformed");
  });

  test("S6 another spelling of the signature is refused", () => {
    const token = forge("{}");
    const dot = token.lastIndexOf(".") + 1;
    for (const spelling of Object.values(variants(token.slice(dot)))) {
      expect(judge(token.slice(0, dot) + spelling)).toBe("signature");
    }
  });

  test("S6 the standard alphabet is refused in every part", () => {
    const odd = '{"sub":"~~~???>>>"}';
    const header = '{"alg":"HS512","typ":"JWT","kid":"~~~???>>>"}';
    const foreign = (text: string) => Buffer.from(text).toString("base64").replace(/=+$/, "");
    expect(foreign(odd)).toMatch(/[+/]/);
    expect(foreign(header)).toMatch(/[+/]/);
    expect(judge(seal(segment(header), segment(odd)))).toBe("accepted");
    expect(judge(seal(segment(header), foreign(odd)))).toBe("malformed");
    expect(judge(seal(foreign(header), segment(odd)))).toBe("malformed");
    let token = forge(odd);
    for (let round = 0; !/[-_][^.]*$/.test(token); round++) token = forge(`{"sub":"${round}"}`);
    const dot = token.lastIndexOf(".") + 1;
    expect(judge(token)).toBe("accepted");
    expect(judge(token.slice(0, dot) + token.slice(dot).replaceAll("-", "+").replaceAll("_", "/"))).toBe("signature");
  });

  test("S6 stray bits in the last character are refused in every part, for every number of them", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const others = (part: string) =>
      [...alphabet]
        .map((last) => part.slice(0, -1) + last)
        .filter(
          (spelling) => spelling !== part && Buffer.from(spelling, "base64url").equals(Buffer.from(part, "base64url")),
        );
    let tried = 0;
    for (const filler of ["", "x", "xx"]) {
      const header = segment(`{"alg":"HS512","typ":"JWT","x":"${filler}"}`);
      const payload = segment(`{"sub":"${filler}"}`);
      const token = seal(header, payload);
      const dot = token.lastIndexOf(".") + 1;
      expect(judge(token)).toBe("accepted");
      for (const spelling of others(header)) expect(judge(seal(spelling, payload))).toBe("malformed");
      for (const spelling of others(payload)) expect(judge(seal(header, spelling))).toBe("malformed");
      for (const spelling of others(token.slice(dot))) expect(judge(token.slice(0, dot) + spelling)).toBe("signature");
      tried += others(header).length + others(payload).length + others(token.slice(dot)).length;
    }
    expect(tried).toBe(18 + 18 + 45);
  });

  test("S6 characters whose low byte is in the alphabet are refused in every part", () => {
    const token = forge('{"sub":"1"}');
    expect(judge(token)).toBe("accepted");
    for (let index = 0; index < token.length; index++) {
      const alias = String.fromCharCode(0x100 + token.charCodeAt(index));
      expect(judge(token.slice(0, index) + alias + token.slice(index + 1))).not.toBe("accepted");
    }
  });

  test("S6 bytes that are no UTF-8, and a byte order mark, are refused", () => {
    const bad = [
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from("\uFEFF{}"),
      Buffer.from("{}", "utf16le"),
    ];
    for (const bytes of bad) expect(judge(forge(bytes))).toBe("malformed");
    expect(judge(forge("{}", `\uFEFF${HEADER}`))).toBe("malformed");
    expect(judge(forge("{}", Buffer.from('{"alg":"HS512","typ":"JWT","x":"\xff"}', "latin1")))).toBe("malformed");
  });

  test("S6 header and payload are plain objects and nothing behind them", () => {
    for (const json of [
      "[]",
      "[{}]",
      "null",
      "true",
      "5",
      '"{}"',
      "",
      " ",
      "{",
      "{}{}",
      "{}x",
      "{},",
      "{'a':1}",
      '{"a":1,}',
      "NaN",
      "undefined",
    ]) {
      expect(judge(forge(json))).toBe("malformed");
      expect(judge(forge("{}", json))).toBe("malformed");
    }
    expect(judge(forge(" {\n} "))).toBe("accepted");
  });

  test("S6 at most 8192 bytes", () => {
    const filled = (bytes: number) => {
      const head = segment(HEADER).length + 2 + 86;
      // Of the payload's bytes 12 are not the filler.
      const token = forge(`{"filler":"${"x".repeat(Math.floor(((bytes - head) * 3) / 4) - 13)}"}`);
      return token;
    };
    const longest = filled(8192);
    expect(longest.length).toBeGreaterThan(8185);
    expect(longest.length).toBeLessThanOrEqual(8192);
    expect(judge(longest)).toBe("accepted");
    const longer = filled(8198);
    expect(longer.length).toBeGreaterThan(8192);
    expect(longer.length).toBeLessThan(8200);
    expect(judge(longer)).toBe("too_large");
    expect(judge("x".repeat(10_000_000))).toBe("too_large");
    expect(judge(".".repeat(8192))).toBe("malformed");
  });

  test("S6 a member __proto__ is refused at any depth and however it is spelt, and changes no prototype", () => {
    const spellings = [
      '{"__proto__":{"admin":true}}',
      '{"__proto__":null}',
      '{"\\u005f_proto__":{"admin":true}}',
      '{"a":{"b":[{"__proto__":{"admin":true}}]}}',
      '{"a":{"b":[{"_\\u005Fproto_\\u005f":{"admin":true}}]}}',
      '{"sub":"1","__proto__":{"sub":"2"},"__proto__":{}}',
    ];
    for (const json of spellings) expect(judge(forge(json))).toBe("malformed");
    expect(judge(forge("{}", '{"alg":"HS512","typ":"JWT","__proto__":{"alg":"none"}}'))).toBe("malformed");
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test("S6 other names of the prototype are claims like any other, and values may say anything", () => {
    const claims = {
      constructor: { prototype: { admin: true } },
      toString: "x",
      sub: "__proto__",
      list: ["\\", "__proto__"],
    };
    const outcome = tryVerifyJwt(forge(JSON.stringify(claims)), KEY, AT);
    expect(outcome).toEqual({ claims });
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test("S6 a claim is never inherited: what a polluted prototype says does not count", () => {
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    prototype.alg = "HS512";
    prototype.typ = "JWT";
    try {
      expect(judge(forge("{}", "{}"))).not.toBe("accepted");
    } finally {
      delete prototype.alg;
      delete prototype.typ;
    }
  });
});

describe("S7 the claims", () => {
  const claims = (json: string, options = {}) => judge(forge(json), KEY, options);

  test("S7 exp, nbf and iat of another type are refused by presence, also where expiry is waived", () => {
    for (const name of ["exp", "nbf", "iat"]) {
      for (const value of [
        "null",
        "true",
        "false",
        '""',
        '"1800000000"',
        "[]",
        "[1800000000]",
        "{}",
        "1e400",
        "-1e400",
      ]) {
        expect(claims(`{"${name}":${value}}`)).toBe("claims");
        expect(claims(`{"${name}":${value}}`, { ignoreExpiry: true })).toBe("claims");
      }
    }
  });

  test("S7 exp 0 is expired, and now is no longer before it", () => {
    expect(["0", "-0", "-1", "1", `${NOW - 1}`, `${NOW}`, `${NOW}.0`].map((exp) => claims(`{"exp":${exp}}`))).toEqual(
      Array.from({ length: 7 }, () => "expired"),
    );
    expect([`${NOW + 1}`, `${NOW}.5`, "1e300"].map((exp) => claims(`{"exp":${exp}}`))).toEqual(
      Array.from({ length: 3 }, () => "accepted"),
    );
    expect(claims(`{"exp":${NOW}}`, { clockSkewSeconds: 300 })).toBe("expired");
  });

  test("S7 iat or nbf beyond the skew in the future is refused", () => {
    for (const name of ["iat", "nbf"]) {
      expect(claims(`{"${name}":${NOW}}`)).toBe("accepted");
      expect(claims(`{"${name}":${NOW + 1}}`)).toBe("not_yet_valid");
      expect(claims(`{"${name}":${NOW + 5}}`, { clockSkewSeconds: 5 })).toBe("accepted");
      expect(claims(`{"${name}":${NOW + 6}}`, { clockSkewSeconds: 5 })).toBe("not_yet_valid");
      expect(claims(`{"${name}":1e300}`, { clockSkewSeconds: 5, ignoreExpiry: true })).toBe("not_yet_valid");
    }
  });

  test("S7 sub, iss and jti are texts", () => {
    for (const name of ["sub", "iss", "jti"]) {
      for (const value of ["null", "1", "true", "[]", '["1"]', "{}"])
        expect(claims(`{"${name}":${value}}`)).toBe("claims");
      expect(claims(`{"${name}":"1"}`)).toBe("accepted");
    }
  });

  test("S7 of two members of a name the last counts in the check and in what is handed out", () => {
    expect(claims(`{"exp":${NOW + 9},"exp":${NOW}}`)).toBe("expired");
    expect(claims(`{"exp":${NOW + 9},"\\u0065xp":"never"}`)).toBe("claims");
    expect(tryVerifyJwt(forge('{"sub":"1","sub":"2"}'), KEY, AT)).toEqual({ claims: { sub: "2" } });
  });

  test("S7 ver is handed out as it is, for the caller to compare", () => {
    for (const ver of [1, "1", null, [1]]) {
      expect(tryVerifyJwt(forge(JSON.stringify({ ver })), KEY, AT)).toEqual({ claims: { ver } });
    }
  });
});

describe("S9 what cannot be configured", () => {
  test("S9 a skew that is negative, not finite or no number", () => {
    for (const clockSkewSeconds of [
      -1,
      -0.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      "5",
      "",
      null,
    ]) {
      expect(() => tryVerifyJwt(forge("{}"), KEY, { clockSkewSeconds: clockSkewSeconds as number })).toThrow(
        expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }),
      );
    }
  });

  test("S9 a token whose exp, nbf or iat is no finite number is not signed", () => {
    const key = createSigningKey("HS512", SECRET);
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "60", null, new Date()]) {
      for (const name of ["exp", "nbf", "iat"]) {
        expect(() => signJwt({ [name]: value } as JwtClaims, key)).toThrow(
          expect.objectContaining({ code: "E_JWT_CLAIMS" }),
        );
      }
    }
  });
});
