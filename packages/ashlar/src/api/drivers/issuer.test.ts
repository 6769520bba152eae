import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Member, Person } from "../../../test/support/people.ts";
import { CompleteLogin } from "../../auth/index.ts";
import { createLogger } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { type JwtClaims, SigningKey, signJws, signJwt } from "../../security/jwt/index.ts";
import { setClock } from "../../support/index.ts";
import { GrantedAbilities } from "../abilities.ts";
import { TokenEvents } from "../events.ts";
import { type CompleteJwtSettings, readApiSettings } from "../settings/driver-settings.ts";
import { SingleStore } from "../stores/single-store.ts";
import type { RefusedToken, VerifiedJwt } from "../verifier.ts";
import { Issuer } from "./issuer.ts";

const SECRET = "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-one";
const OTHER_SECRET = "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-two";
const START = 1_900_000_000;

let seconds = START;
beforeEach(async () => {
  seconds = START;
  setClock(() => seconds * 1000);
  await Person.populate("correct horse battery");
});
afterEach(() => setClock(null));

/** @param lines the lines of the log */
function issuer(options: object = {}, lines: string[] = []): Issuer {
  const [jwt] = readApiSettings({ jwt: { secret: SECRET, model: Member, ...options } });
  const settings = { name: "test", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(line) });
  const store = new SingleStore(jwt as CompleteJwtSettings, new GrantedAbilities());
  return new Issuer(store, new TokenEvents("jwt", null, logger));
}

/** A token with these claims, signed by this or another party. */
function signed(claims: object, secret = SECRET): string {
  return signJwt(claims as JwtClaims, new SigningKey("HS512", secret));
}

/** Admits every user, like a guard without steps. */
async function admit(user: object): Promise<CompleteLogin> {
  const login = { context: {} as HttpContext, guard: "jwt", user, purpose: "renewal", passed: [] } as const;
  return (await CompleteLogin.judge([], login, async () => false)) as CompleteLogin;
}

/** Renews a user's token without any step refusing. */
async function renew(tokens: Issuer, token: string, address: string | null = null): Promise<string | null> {
  return (await tokens.renew(token, { address, userAgent: null }, admit))?.token ?? null;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
}

/** The subject of an accepted token, or why it was refused, and its owner. */
function outcome(verification: VerifiedJwt | RefusedToken): unknown {
  return "claims" in verification ? verification.claims.sub : [verification.failure, verification.userId];
}

test("S9 a token without an expiry and an issue time is expired if tokens have a lifetime", () => {
  const claims = JSON.stringify({ sub: "1" });
  const token = signJws(claims, new SigningKey("HS512", SECRET), { typ: "JWT" });
  expect(outcome(issuer({ expires: 60 }).verify(token))).toEqual(["expired", "1"]);
  expect(outcome(issuer().verify(token))).toBe("1");
});

describe("issue()", () => {
  test("a token holds the user's key, the time and 128 random bits, and nothing personal", () => {
    const token = issuer().issue(1);
    const [header] = token.split(".");
    expect(JSON.parse(Buffer.from(header!, "base64url").toString())).toEqual({ alg: "HS512", typ: "JWT" });
    expect(claimsOf(token)).toEqual({ sub: "1", iat: START, jti: expect.stringMatching(/^[\w-]{22}$/) });
  });

  test("expiry, version, issuer and audience are included if they are configured", () => {
    const token = issuer({ expires: 60, version: 2, issuer: "https://shop.example", audience: "shop" }).issue("user-7");
    expect(claimsOf(token)).toEqual({
      sub: "user-7",
      iat: START,
      exp: START + 3600,
      jti: expect.any(String),
      ver: 2,
      iss: "https://shop.example",
      aud: "shop",
    });
  });

  test("only the exact type JWT is an API token, regardless of who has the secret", () => {
    const key = new SigningKey("HS512", SECRET);
    const claims = JSON.stringify({ sub: "1", iat: START });
    const judged = [{ typ: "JWT" }, {}, { typ: "jwt" }, { typ: "application/jwt" }, { typ: "at+jwt" }].map((header) =>
      outcome(issuer().verify(signJws(claims, key, header))),
    );
    expect(judged).toEqual(["1", ["type", null], ["type", null], ["type", null], ["type", null]]);
  });

  test("no two tokens are equal", () => {
    const tokens = issuer();
    expect(new Set(Array.from({ length: 1000 }, () => tokens.issue(1))).size).toBe(1000);
  });

  test("every token that is issued verifies, for any key, with any options", () => {
    const versions = fc.oneof(fc.string({ minLength: 1 }), fc.integer(), fc.constant(null));
    const minutes = fc.oneof(fc.integer({ min: 1, max: 1e9 }), fc.constant(null));
    const property = fc.property(fc.string({ minLength: 1 }), versions, minutes, (id, version, expires) => {
      const tokens = issuer({ version, expires });
      const verification = tokens.verify(tokens.issue(id));
      expect(outcome(verification)).toBe(id.toWellFormed());
    });
    fc.assert(property, { numRuns: 200 });
  });
});

describe("verify()", () => {
  test.each([
    ["garbage", "garbage", ["malformed", null]],
    ["blank", "", ["malformed", null]],
    ["two parts", "e30.e30", ["malformed", null]],
    ["more than 8 KiB", "a".repeat(8193), ["too_large", null]],
    ["a foreign secret", signed({ sub: "1" }, OTHER_SECRET), ["signature", null]],
    ["another algorithm", signJwt({ sub: "1" }, new SigningKey("HS256", SECRET)), ["algorithm", null]],
    ["no subject", signed({ jti: "x" }), ["subject", null]],
    ["a blank subject", signed({ sub: "" }), ["subject", null]],
    ["issued in the future", signed({ sub: "1", iat: START + 31 }), ["not_yet_valid", null]],
    ["not valid yet", signed({ sub: "1", nbf: START + 31 }), ["not_yet_valid", null]],
    ["expired at this very second", signed({ sub: "1", exp: START }), ["expired", "1"]],
    ["expired at the epoch", signed({ sub: "1", exp: 0 }), ["expired", "1"]],
  ])("%s is refused", (_, token, expected) => {
    expect(outcome(issuer().verify(token))).toEqual(expected);
  });

  test("a different or missing `typ` is refused", () => {
    const key = new SigningKey("HS512", SECRET);
    for (const typ of ["jwt", "at+jwt", "password-reset"]) {
      expect(outcome(issuer().verify(signJwt({ sub: "1" }, key, { typ })))).toEqual(["type", null]);
    }
  });

  test("a clock that is behind by less than the skew is tolerated", () => {
    expect(outcome(issuer().verify(signed({ sub: "1", iat: START + 30, nbf: START + 30 })))).toBe("1");
    expect(outcome(issuer({ clockSkewSeconds: 60 }).verify(signed({ sub: "1", iat: START + 60 })))).toBe("1");
  });

  test("issuer and audience must be the configured ones", () => {
    const tokens = issuer({ issuer: "https://shop.example", audience: "shop" });
    const right = { sub: "1", iss: "https://shop.example", aud: ["blog", "shop"] };
    expect(outcome(tokens.verify(signed(right)))).toBe("1");
    expect(outcome(tokens.verify(signed({ ...right, iss: "https://evil.example" })))).toEqual(["issuer", null]);
    expect(outcome(tokens.verify(signed({ ...right, aud: "blog" })))).toEqual(["audience", null]);
    expect(outcome(tokens.verify(signed({ sub: "1" })))).toEqual(["issuer", null]);
  });

  test("a token expires after the configured minutes, to the second", () => {
    const tokens = issuer({ expires: 1 });
    const token = tokens.issue(1);
    seconds = START + 59;
    expect(outcome(tokens.verify(token))).toBe("1");
    seconds = START + 60;
    expect(outcome(tokens.verify(token))).toEqual(["expired", "1"]);
  });

  test("a token without a lifetime gets one that is configured later, counted from when it was issued", () => {
    const token = issuer().issue(1);
    const later = issuer({ expires: 1 });
    seconds = START + 59;
    expect(outcome(later.verify(token))).toBe("1");
    seconds = START + 60;
    expect(outcome(later.verify(token))).toEqual(["expired", "1"]);
  });

  test("without a configured lifetime a token never expires", () => {
    const tokens = issuer();
    const token = tokens.issue(1);
    seconds = START + 100 * 365 * 86_400;
    expect(outcome(tokens.verify(token))).toBe("1");
  });

  test.each([
    [1, 2],
    [1, "1"],
    ["1", 1],
    [1, null],
    [null, 1],
    [0, null],
    ["0", null],
    ["a", "A"],
  ])("S10 a token with version %j is refused if the version is %j", (before, after) => {
    const token = issuer({ version: before }).issue(1);
    expect(outcome(issuer({ version: before }).verify(token))).toBe("1");
    expect(outcome(issuer({ version: after }).verify(token))).toEqual(["version", "1"]);
  });

  test("D7 the version is checked before the expiry", () => {
    const token = issuer({ version: 1, expires: 1 }).issue(1);
    seconds = START + 3600;
    expect(outcome(issuer({ version: 2, expires: 1 }).verify(token))).toEqual(["version", "1"]);
  });

  test("S4 the first secret signs, all of them verify", () => {
    const before = issuer().issue(1);
    const rotated = issuer({ secret: OTHER_SECRET, previousSecrets: [SECRET] });
    const after = rotated.issue(1);
    expect([outcome(rotated.verify(before)), outcome(rotated.verify(after))]).toEqual(["1", "1"]);
    expect(outcome(issuer().verify(after))).toEqual(["signature", null]);
    expect(outcome(issuer({ secret: OTHER_SECRET }).verify(before))).toEqual(["signature", null]);
  });

  test("a key pair signs with its private half and verifies with its public one", () => {
    for (const [algorithm, pair] of [
      ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
      ["EdDSA", generateKeyPairSync("ed25519")],
      ["RS256", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ] as const) {
      const secret = pair.privateKey.export({ type: "pkcs8", format: "pem" });
      const tokens = issuer({ algorithm, secret });
      expect(outcome(tokens.verify(tokens.issue(1)))).toBe("1");
      expect(outcome(tokens.verify(issuer().issue(1)))).toEqual(["algorithm", null]);
    }
  });

  test("no token with one changed character is accepted", () => {
    const tokens = issuer();
    const token = tokens.issue(1);
    const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ é";
    const change = fc.property(fc.nat(token.length - 1), fc.constantFrom(...characters), (at, character) => {
      fc.pre(token[at] !== character);
      const changed = token.slice(0, at) + character + token.slice(at + 1);
      expect("failure" in tokens.verify(changed)).toBe(true);
    });
    fc.assert(change, { numRuns: 500 });
  });
});

describe("renew()", () => {
  /** A service, a user, and the user's active token. */
  async function holder(options: object = {}, lines: string[] = []) {
    const tokens = issuer(options, lines);
    const user = (await Member.findByAuthId(1))!;
    return { tokens, user, token: await tokens.issueUnasked(user, null) };
  }

  test("the active token is replaced by a new one, and the table holds the new one's digest", async () => {
    const { tokens, user, token } = await holder();
    expect(user.tokenDigest()).toBe(digest(token));
    const renewed = await renew(tokens, token);
    expect(outcome(tokens.verify(renewed!))).toBe("1");
    expect(user.tokenDigest()).toBe(digest(renewed!));
  });

  test.each([0, 1, 4, 59, 60])("a token that was already renewed gets the same successor %d s later", async (later) => {
    const { tokens, user, token } = await holder({ expires: 60 });
    seconds = START + 3;
    const renewed = await renew(tokens, token);
    seconds += later;
    expect(await renew(tokens, token)).toBe(renewed);
    expect(user.tokenDigest()).toBe(digest(renewed!));
  });

  test("a token that was renewed more than a minute ago is refused, and the new one stays active", async () => {
    const lines: string[] = [];
    const { tokens, user, token } = await holder({}, lines);
    const renewed = await renew(tokens, token);
    seconds += 66;
    expect(await renew(tokens, token)).toBeNull();
    expect(user.tokenDigest()).toBe(digest(renewed!));
    const refusals = lines.filter((line) => line.includes("An API token was refused."));
    expect(refusals.map((line) => JSON.parse(line))).toMatchObject([{ reason: "inactive", userId: "1" }]);
  });

  test("a token whose successor was replaced or revoked is refused", async () => {
    const { tokens, user, token } = await holder();
    await renew(tokens, (await renew(tokens, token))!);
    expect(await renew(tokens, token)).toBeNull();
    const other = await tokens.issueUnasked(user, null);
    await renew(tokens, other);
    await user.revokeToken();
    expect(await renew(tokens, other)).toBeNull();
  });

  test("with signatures that differ each time, the successor is the same token with another signature", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const secret = privateKey.export({ type: "pkcs8", format: "pem" });
    const { tokens, token, user } = await holder({ algorithm: "ES256", secret });
    const [first, second] = [await renew(tokens, token), await renew(tokens, token)];
    expect(claimsOf(first!)).toEqual(claimsOf(second!));
    for (const one of [first!, second!]) {
      const verification = tokens.verify(one);
      expect("claims" in verification && (await tokens.findActiveUser(one, verification.claims))).toEqual(user);
    }
    // The digest as stored by an earlier version.
    const old = tokens.issue(1);
    await user.activateToken(digest(old));
    expect(await renew(tokens, old)).not.toBeNull();
  });

  test("S11 of many concurrent renewals of one token, exactly one makes a new token, which all get", async () => {
    const { tokens, token, user } = await holder({});
    const renewed = await Promise.all(Array.from({ length: 50 }, () => renew(tokens, token)));
    expect([...new Set(renewed)].map((one) => digest(one!))).toEqual([user.tokenDigest()]);
  });

  test("an expired token is renewed, without a limit if none is configured", async () => {
    const { tokens, token } = await holder({ expires: 1 });
    seconds = START + 10 * 365 * 86_400;
    const renewed = await renew(tokens, token);
    expect(claimsOf(renewed!)).toMatchObject({ sub: "1", iat: seconds, exp: seconds + 60 });
  });

  test("with a limit, an expired token is renewed within it, to the second", async () => {
    const inTime = await holder({ expires: 1, reauthWithinMinutes: 2 });
    seconds = START + 60 + 119;
    expect(await renew(inTime.tokens, inTime.token)).not.toBeNull();
    seconds = START;
    const late = await holder({ expires: 1, reauthWithinMinutes: 2 });
    seconds = START + 60 + 120;
    expect(await renew(late.tokens, late.token)).toBeNull();
  });

  test("D8 a token of another version is not renewed", async () => {
    const { token } = await holder({ version: 1 });
    expect(await renew(issuer({ version: 2 }), token)).toBeNull();
  });

  test.each([
    ["an unsigned token", () => `${signed({ sub: "1" }).slice(0, -4)}AAAA`],
    ["a valid token that was never made active", () => issuer().issue(1)],
    ["another user's key with the active token's digest in the table", () => issuer().issue(2)],
    ["a valid token of a user that does not exist", () => issuer().issue(99)],
    ["a token that is not valid yet", () => signed({ sub: "1", iat: START + 3600 })],
  ])("%s is not renewed, and the active token stays", async (_, make) => {
    const { tokens, user, token } = await holder();
    expect(await renew(tokens, make())).toBeNull();
    expect(user.tokenDigest()).toBe(digest(token));
  });
});

test("S9 a token without either can be renewed as if it had expired at the epoch, to the second", async () => {
  const claims = JSON.stringify({ sub: "1" });
  const token = signJws(claims, new SigningKey("HS512", SECRET), { typ: "JWT" });
  const minutes = 30_000_000;
  const tokens = issuer({ expires: 1, reauthWithinMinutes: minutes });
  await (await Member.findByAuthId(1))!.activateToken(digest(token));
  seconds = minutes * 60;
  expect(await renew(tokens, token)).toBeNull();
  seconds--;
  expect(outcome(tokens.verify((await renew(tokens, token))!))).toBe("1");
});

test("S47 a refused token is logged with the reason, its user and the sender, but not the token itself", async () => {
  const lines: string[] = [];
  const tokens = issuer({}, lines);
  const token = tokens.issue(1);
  expect(await renew(tokens, "garbage", "203.0.113.7")).toBeNull();
  expect(await renew(tokens, token)).toBeNull();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "info", reason: "malformed", userId: null, address: "203.0.113.7" },
    { level: "info", reason: "inactive", userId: "1", address: null },
  ]);
  expect(lines.join()).not.toContain(token);
});

describe("findActiveUser()", () => {
  test("finds the user whose active token it is, and returns null for any other token", async () => {
    const tokens = issuer();
    const user = (await Member.findByAuthId(1))!;
    const token = await tokens.issueUnasked(user, null);
    const find = async (presented: string) => {
      const verification = tokens.verify(presented);
      return "claims" in verification
        ? ((await tokens.findActiveUser(presented, verification.claims))?.authId() ?? null)
        : null;
    };
    expect(await find(token)).toBe(1);
    expect(await find(tokens.issue(1))).toBeNull();
    expect(await find(tokens.issue(2))).toBeNull();
    expect(await find(tokens.issue(99))).toBeNull();
    await user.revokeToken();
    expect(await find(token)).toBeNull();
  });
});
