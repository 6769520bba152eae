import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { generateSecret, randomToken } from "../../security/index.ts";
import { CsrfTokens } from "./csrf-tokens.ts";

const SECRET = generateSecret();
const tokens = new CsrfTokens(SECRET);
const ID = randomToken();

describe("tokens", () => {
  test("S26 a token is valid for the session it was issued for, and for no other", () => {
    const token = tokens.issue(ID);
    expect(tokens.matches(ID, token)).toBe(true);
    expect(tokens.matches(randomToken(), token)).toBe(false);
  });

  test("S26 a token of another application is invalid", () => {
    expect(tokens.matches(ID, new CsrfTokens(generateSecret()).issue(ID))).toBe(false);
    expect(tokens.matches(ID, new CsrfTokens(SECRET).issue(ID))).toBe(true);
  });

  test("S26 a token issued by an earlier version is still valid", () => {
    const issued = "tw4tfgMq4T3HWWxTW60EzE6jNJumz6uY280KPR8RGszRK_C4zzAkYjy6Ow-lpCAeCLse70MxyOkrQrG0L9nP0g";
    expect(new CsrfTokens("a secret of an application, that stays: 0123456789").matches("an id", issued)).toBe(true);
  });

  test("S26 each token has a new mask, so no two pages share any part of it", () => {
    const issued = Array.from({ length: 200 }, () => tokens.issue(ID));
    expect(new Set(issued).size).toBe(200);
    // Neither half repeats, nor is any one character the same in all of them at its position.
    expect(new Set(issued.map((token) => token.slice(0, 40))).size).toBe(200);
    expect(new Set(issued.map((token) => token.slice(-40))).size).toBe(200);
    for (let place = 0; place < 86; place++)
      expect(new Set(issued.map((token) => token[place])).size).toBeGreaterThan(1);
    expect(issued.every((token) => tokens.matches(ID, token))).toBe(true);
  });

  test("S26 the token reveals nothing about the session's id", () => {
    expect(tokens.issue(ID)).toMatch(/^[\w-]{86}$/);
    expect(tokens.issue(ID)).not.toContain(ID.slice(0, 8));
  });

  test("S26 a token with any bit flipped is refused", () => {
    const bytes = Buffer.from(tokens.issue(ID), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(tokens.matches(ID, changed.toString("base64url"))).toBe(false);
    }
  });

  test("S26 a token made with a previous key is accepted, and new ones are made only with the current key", () => {
    const [next, oldest] = [generateSecret(), generateSecret()];
    const rotated = new CsrfTokens(next, { previousSecrets: [SECRET, oldest] });
    const made = [rotated, tokens, new CsrfTokens(oldest)].map((one) => one.issue(ID));
    expect(made.map((token) => rotated.matches(ID, token))).toEqual([true, true, true]);
    expect(made.map((token) => rotated.matches(randomToken(), token))).toEqual([false, false, false]);
    expect(made.map((token) => new CsrfTokens(next).matches(ID, token))).toEqual([true, false, false]);
    expect(tokens.matches(ID, rotated.issue(ID))).toBe(false);
    expect(rotated.matches(ID, new CsrfTokens(generateSecret()).issue(ID))).toBe(false);
  });

  test("S36 anything else is refused without throwing", () => {
    const token = tokens.issue(ID);
    const others = [
      null,
      undefined,
      "",
      7,
      true,
      [],
      [token],
      { token },
      `${token}=`,
      ` ${token}`,
      `${token}\n`,
      token.slice(1),
      token + token,
    ];
    expect(others.map((other) => tokens.matches(ID, other))).toEqual(others.map(() => false));
    fc.assert(
      fc.property(
        fc.oneof(fc.anything(), anyText({ minLength: 86, maxLength: 86 })),
        (other) => !tokens.matches(ID, other),
      ),
    );
  });
});

describe("S163 a token proves which page it was shown in", () => {
  const PAGE = "shop.example/orders/create";

  test("to its session, with any key that is still accepted", () => {
    const token = tokens.issue(ID, PAGE);
    const next = new CsrfTokens(generateSecret(), { previousSecrets: [SECRET] });
    expect([tokens, next].map((one) => one.provesPage(ID, PAGE, token))).toEqual([true, true]);
    expect(tokens.matches(ID, token)).toBe(true);
    expect(new Set(Array.from({ length: 100 }, () => tokens.issue(ID, PAGE).slice(0, 21))).size).toBe(100);
  });

  test("and nothing of another page or session, nor if it is a token of none, of an earlier version or no token", () => {
    const token = tokens.issue(ID, PAGE);
    const proofs = [
      tokens.provesPage(ID, "shop.example/orders", token),
      tokens.provesPage(ID, "", token),
      tokens.provesPage(randomToken(), PAGE, token),
      tokens.provesPage(ID, PAGE, tokens.issue(ID)),
      tokens.provesPage(ID, PAGE, null),
      tokens.provesPage(ID, PAGE, ""),
      new CsrfTokens(generateSecret()).provesPage(ID, PAGE, token),
    ];
    expect(proofs).toEqual(proofs.map(() => false));
  });

  test("which no one can change who has a token and so its secret", () => {
    const bytes = Buffer.from(tokens.issue(ID, PAGE), "base64url");
    for (let bit = 0; bit < 256; bit++) {
      const changed = Buffer.from(bytes);
      // The same bit of both halves, so that the secret stays.
      for (const half of [0, 32]) changed[half + (bit >> 3)]! ^= 1 << (bit & 7);
      const token = changed.toString("base64url");
      expect([tokens.matches(ID, token), tokens.provesPage(ID, PAGE, token)]).toEqual([true, false]);
    }
  });
});
