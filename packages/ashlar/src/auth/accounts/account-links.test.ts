import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { KEY_PURPOSES } from "../../../test/support/key-purposes.ts";
import { generateSecret, Signer } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { AccountLinks } from "./account-links.ts";

const SECRET = generateSecret();
const links = new AccountLinks(SECRET, 60);
const EMAIL = "ada@example.com";

afterEach(() => setClock(null));

describe("a verification token", () => {
  test("says whose address it proves", () => {
    const token = links.verification("web", 1, EMAIL);
    expect(links.readVerification(token)).toEqual({ guard: "web", id: "1", email: EMAIL, newEmail: null });
    expect(token).toMatch(/^[\w-]+\.\d+\.[\w-]+$/);
  });

  test("says which address takes the place of which", () => {
    const token = links.verification("admin", 12n, EMAIL, "ada@example.org");
    const claim = { guard: "admin", id: "12", email: EMAIL, newEmail: "ada@example.org" };
    expect(links.readVerification(token)).toEqual(claim);
  });

  test("S38 is dead after its minutes", () => {
    const start = Date.now();
    setClock(() => start);
    const token = links.verification("web", 1, EMAIL);
    setClock(() => start + 59 * 60_000);
    expect(links.readVerification(token)).not.toBeNull();
    setClock(() => start + 60 * 60_000);
    expect(links.readVerification(token)).toBeNull();
  });

  test("whatever names, keys and addresses hold, they come back as they were", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 60 }).filter((one) => one.isWellFormed());
    fc.assert(
      fc.property(text, text, text, fc.option(text), (guard, id, email, newEmail) => {
        const claim = links.readVerification(links.verification(guard, id, email, newEmail));
        expect(claim).toEqual({ guard, id, email, newEmail });
      }),
    );
  });

  test("with any one character changed it is none", () => {
    const token = links.verification("web", 1, EMAIL, "ada@example.org");
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(..."AZaz09-_.~%\0é"), (at, character) => {
        fc.pre(token[at] !== character);
        expect(links.readVerification(token.slice(0, at) + character + token.slice(at + 1))).toBeNull();
      }),
    );
  });

  test.each([null, undefined, 1, {}, [], ["x"], "", ".", "..", "a.b.c", "x".repeat(10_000)])("%j is none", (token) => {
    expect(links.readVerification(token)).toBeNull();
  });
});

describe("a reset token", () => {
  test("says whom it is for, and is another one each time", () => {
    const [first, second] = [links.reset("web", 1), links.reset("web", 1)];
    expect(links.readReset(first)).toEqual({ guard: "web", id: "1" });
    expect(first).not.toBe(second);
  });

  test("has no end of its own: that stands in the table", () => {
    const token = links.reset("web", 1);
    setClock(() => Date.now() + 100 * 365 * 86_400_000);
    expect(links.readReset(token)).toEqual({ guard: "web", id: "1" });
  });

  test("holds 256 random bits", () => {
    const [value] = links.reset("web", 1).split(".");
    const [, , random] = JSON.parse(Buffer.from(value!, "base64url").toString()) as string[];
    expect(Buffer.from(random!, "base64url")).toHaveLength(32);
  });
});

describe("S8 purposes do not mix", () => {
  test("S8 a reset token verifies no address, and a verification token resets no password", () => {
    expect(links.readVerification(links.reset("web", 1))).toBeNull();
    expect(links.readReset(links.verification("web", 1, EMAIL))).toBeNull();
    expect(links.readReset(links.verification("web", 1, EMAIL, "ada@example.org"))).toBeNull();
  });

  test.each(KEY_PURPOSES)("S8 what was signed for %s is neither, unless that is its purpose", (purpose) => {
    const signer = new Signer(SECRET, purpose);
    const verification = signer.sign(JSON.stringify(["verify", "web", "1", EMAIL]));
    const reset = signer.sign(JSON.stringify(["web", "1", "random"]));
    expect(links.readVerification(verification) !== null).toBe(purpose === "email-verification");
    expect(links.readReset(reset) !== null).toBe(purpose === "password-reset");
  });

  test("S8 what was signed with another key is neither", () => {
    const others = new AccountLinks(generateSecret(), 60);
    expect(links.readVerification(others.verification("web", 1, EMAIL))).toBeNull();
    expect(links.readReset(others.reset("web", 1))).toBeNull();
  });

  test("S8 what a previous key signed is still read, each for its purpose; the current key signs", () => {
    const next = generateSecret();
    const rotated = new AccountLinks(next, 60, { previousSecrets: [SECRET] });
    const [verification, reset] = [links.verification("web", 1, EMAIL), links.reset("web", 1)];
    expect(rotated.readVerification(verification)).toEqual({ guard: "web", id: "1", email: EMAIL, newEmail: null });
    expect(rotated.readReset(reset)).toEqual({ guard: "web", id: "1" });
    expect([rotated.readVerification(reset), rotated.readReset(verification)]).toEqual([null, null]);
    expect(links.readVerification(rotated.verification("web", 1, EMAIL))).toBeNull();
    expect(links.readReset(rotated.reset("web", 1))).toBeNull();
    expect(new AccountLinks(next, 60).readReset(rotated.reset("web", 1))).toEqual({ guard: "web", id: "1" });
  });

  test.each([
    ["one part less", ["verify", "web", "1"]],
    ["one part more", ["verify", "web", "1", EMAIL, EMAIL]],
    ["a change without an address", ["change", "web", "1", EMAIL]],
    ["another kind", ["reset", "web", "1", EMAIL]],
  ])("S8 %s is no verification token, though the key is right", (_, parts) => {
    const token = new Signer(SECRET, "email-verification").sign(JSON.stringify(parts));
    expect(links.readVerification(token)).toBeNull();
  });

  test.each([[["web", "1"]], [["web", "1", "random", "more"]], [[]]])("S8 %j is no reset token", (parts) => {
    expect(links.readReset(new Signer(SECRET, "password-reset").sign(JSON.stringify(parts)))).toBeNull();
  });
});
