import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { randomToken } from "../../security/index.ts";
import { presentedToken, presentedTokens } from "./request-login.ts";

const TOKEN = `${"A".repeat(42)}B`;
const OTHER = `${"C".repeat(42)}D`;

const requestWith = (cookie?: string) => makeContext(cookie === undefined ? {} : { headers: { cookie } }).request;

test("S17 a token is 256 random bits as base64url, and no two are equal", () => {
  const tokens = Array.from({ length: 1000 }, () => randomToken());
  expect(new Set(tokens).size).toBe(1000);
  for (const token of tokens) expect(Buffer.from(token, "base64url").toString("base64url")).toBe(token);
  expect(Buffer.from(tokens[0]!, "base64url")).toHaveLength(32);
});

describe("the token that a request carries", () => {
  test.each([
    ["alone", `token=${TOKEN}`],
    ["among other cookies", `a=1; token=${TOKEN}; b=2`],
    ["next to cookies whose names have the same ending", `csrf_token=${OTHER}; token=${TOKEN}; my-token=x`],
    ["next to a value that looks like it", `a=token=${OTHER}; token=${TOKEN}`],
    ["next to that and a cookie without a name", `token=${TOKEN}; a=token=${OTHER}; token`],
    ["with spaces around it, next to a value that looks like it", `a=token=x;  token = ${TOKEN} `],
  ])("is found %s", (_, cookie) => {
    expect(presentedToken(requestWith(cookie), "token")).toBe(TOKEN);
  });

  test.each([
    ["no cookie at all", undefined],
    ["an empty header", ""],
    ["another cookie", `tokens=${TOKEN}`],
    ["an empty one", "token="],
    ["no value", "token"],
    ["one character too few", `token=${TOKEN.slice(1)}`],
    ["one character too many", `token=${TOKEN}A`],
    ["one in quotes", `token="${TOKEN}"`],
    ["padding", `token=${TOKEN}=`],
    ["base64 instead of base64url", `token=${TOKEN.slice(0, 42)}+`],
    ["an oversized one", `token=${"A".repeat(8000)}`],
    ["bytes that are not UTF-8", `token=${"ÿ".repeat(43)}`],
    ["an encoded line break", `token=${TOKEN.slice(0, 40)}%0D%0A`],
    ["two of them", `token=${TOKEN}; token=${OTHER}`],
    ["the same twice", `token=${TOKEN}; a=1; token=${TOKEN}`],
    ["a second one that is garbage", `token=${TOKEN}; token=x`],
    ["a second one without a space", `token=${TOKEN};token=${OTHER}`],
    ["a name in different case", `Token=${TOKEN}`],
    ["the prefix of the plain name", `__Host-token=${TOKEN}`],
  ])("S25 is null if the request has %s", (_, cookie) => {
    expect(presentedToken(requestWith(cookie), "token")).toBeNull();
  });

  test("is the token that a middleware has set on the request", () => {
    const request = requestWith(`token=${TOKEN}`);
    request.cookie("token", OTHER);
    expect(presentedToken(request, "token")).toBe(OTHER);
    const bare = requestWith();
    bare.cookie("token", OTHER);
    expect(presentedToken(bare, "token")).toBe(OTHER);
    expect([presentedTokens(request, "token"), presentedTokens(bare, "token")]).toEqual([[OTHER, TOKEN], [OTHER]]);
  });

  test("S25 no header of any kind makes it throw, or return something that cannot be a token", () => {
    const header = fc.oneof(
      fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) }),
      fc
        .array(fc.constantFrom("token", "=", ";", " ", TOKEN, OTHER, "%", '"', "ÿ", ","), { maxLength: 12 })
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(header, (cookie) => {
        const request = requestWith(cookie);
        const token = presentedToken(request, "token");
        const all = presentedTokens(request, "token");
        expect(token === null || all.includes(token)).toBe(true);
        expect(all.length).toBeLessThanOrEqual(5);
        for (const one of all) expect(one).toMatch(/^[\w-]{43}$/);
      }),
    );
  });
});

describe("all tokens that a request carries", () => {
  test.each([
    [undefined, []],
    [`token=${TOKEN}`, [TOKEN]],
    [`token=${TOKEN}; token=${OTHER}; token=x; token=${TOKEN}`, [TOKEN, OTHER]],
    [`token=x; a=1;token=${OTHER}`, [OTHER]],
    [`token; token = ${TOKEN} ;tokens=${OTHER}; token=${TOKEN}=`, [TOKEN]],
  ])("of %j are %j", (cookie, tokens) => {
    expect(presentedTokens(requestWith(cookie), "token")).toEqual(tokens);
  });

  test("S122 are the first five that differ, if there are more than a browser sends", () => {
    const tokens = Array.from({ length: 240 }, () => randomToken());
    const cookie = ["token=x", ...tokens.flatMap((token) => [`token=${token}`, `token=${token}`])].join("; ");
    expect(presentedTokens(requestWith(cookie), "token")).toEqual(tokens.slice(0, 5));
  });
});
