import { afterEach, expect, test } from "vitest";
import { travel, travelBack } from "../../testing/index.ts";
import { type LinkClaim, LoginCodes, NO_ACCOUNT } from "./login-codes.ts";

const SECRET = "a secret of the application, which has 32 bytes or more";
const FACTS = { kind: "login", guard: "web", email: "ada@example.com", remember: false } as const;
const ACCOUNT = { id: "1", epoch: "e", email: "ada@example.com" };

const codes = new LoginCodes(SECRET);

function claimOf(changes: Partial<LinkClaim["account"]> = {}, request: Partial<LinkClaim["request"]> = {}): LinkClaim {
  return { request: { id: "r", kind: "login", guard: "web", ...request }, account: { ...ACCOUNT, ...changes } };
}

afterEach(travelBack);

test("a code has eight letters that can't be mistaken for each other", () => {
  const made = Array.from({ length: 300 }, (_, id) => codes.code(claimOf({}, { id: String(id) })));
  for (const code of made) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  expect(new Set(made).size).toBe(300);
  expect(new Set(made.join("")).size).toBe(21);
});

test("a code is accepted in any case, with or without the hyphen, and with spaces", () => {
  const code = codes.code(claimOf());
  const letters = code.replace("-", "");
  for (const typed of [
    code,
    letters,
    code.toLowerCase(),
    ` ${letters.split("").join(" ")} `,
    code.replace("-", " - "),
  ]) {
    expect(codes.isCodeOf(claimOf(), typed)).toBe(true);
  }
  for (const typed of [
    "",
    "-",
    letters.slice(1),
    `${letters}B`,
    null,
    undefined,
    1,
    [code],
    { code },
    "x".repeat(101),
  ]) {
    expect(codes.isCodeOf(claimOf(), typed)).toBe(false);
  }
});

test("S142 a code belongs to one request, account, address and epoch", () => {
  const code = codes.code(claimOf());
  const others = [
    claimOf({ id: "2" }),
    claimOf({ epoch: "f" }),
    claimOf({ email: "eve@example.com" }),
    claimOf({}, { id: "s" }),
    claimOf({}, { kind: "confirm" }),
    claimOf({}, { guard: "admin" }),
  ];
  for (const other of others) expect(codes.isCodeOf(other, code)).toBe(false);
  const none = { ...claimOf(), account: NO_ACCOUNT };
  expect(codes.isCodeOf(none, codes.code(none))).toBe(false);
});

test("S8 requests and links are read for 15 minutes, and only as what they are", () => {
  const { request, text } = codes.request(FACTS);
  const token = codes.link(claimOf());
  expect(codes.readRequest(text)).toEqual({ ...FACTS, id: request.id });
  expect(codes.readLink(token)).toEqual(claimOf());
  expect([codes.readLink(text), codes.readRequest(token)]).toEqual([null, null]);
  expect([codes.readLink(`${token}x`), codes.readLink(null), codes.readRequest([text])]).toEqual([null, null, null]);
  travel(16);
  expect([codes.readLink(token), codes.readRequest(text)]).toEqual([null, null]);
});

test("S10 after a rotation of the key, requests, links and codes still work", () => {
  const rotated = new LoginCodes("another secret of the application, with enough bytes", [SECRET]);
  const { text } = codes.request(FACTS);
  expect(rotated.readRequest(text)).not.toBeNull();
  expect(rotated.readLink(codes.link(claimOf()))).toEqual(claimOf());
  expect(rotated.isCodeOf(claimOf(), codes.code(claimOf()))).toBe(true);
  expect(codes.isCodeOf(claimOf(), rotated.code(claimOf()))).toBe(false);
});
