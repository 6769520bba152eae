import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { KEY_PURPOSES } from "../../../../test/support/key-purposes.ts";
import { generateSecret, KeyPurpose, Signer } from "../../../security/index.ts";
import { setClock } from "../../../support/index.ts";
import { AccountLinks } from "./account-links.ts";

const SECRET = generateSecret();
const LIFETIMES = { verificationExpiresInMinutes: 60, emailChangeExpiresInMinutes: 30 };
const links = new AccountLinks(SECRET, LIFETIMES);
const EMAIL = "ada@example.com";
const ADA = { guard: "web", id: "1", epoch: "an epoch's digest" } as const;
const VERIFY = { ...ADA, email: EMAIL, newEmail: null } as const;
const CHANGE = { ...VERIFY, newEmail: "ada@example.org" } as const;

afterEach(() => setClock(null));

describe("a verification token", () => {
  test("contains the user whose address it proves", () => {
    const token = links.verification(VERIFY);
    expect(links.readVerification(token)).toEqual(VERIFY);
    expect(token).toMatch(/^[\w-]+\.\d+\.[\w-]+$/);
  });

  test("contains both addresses of a change", () => {
    expect(links.readVerification(links.verification(CHANGE))).toEqual(CHANGE);
  });

  test("is still read in the format of links that were already mailed", () => {
    const signer = new Signer(SECRET, new KeyPurpose("email-verification"));
    const { guard, id, epoch, newEmail } = CHANGE;
    const token = signer.sign(JSON.stringify(["change", guard, id, epoch, EMAIL, newEmail]));
    expect(links.readVerification(token)).toEqual(CHANGE);
  });

  test("is written in the format in which it is read, one per kind, so that different versions can read each other's tokens", () => {
    const signer = new Signer(SECRET, new KeyPurpose("email-verification"));
    const { guard, id, epoch, newEmail } = CHANGE;
    expect([VERIFY, CHANGE].map((claim) => JSON.parse(signer.verify(links.verification(claim))!))).toEqual([
      ["verify", guard, id, epoch, EMAIL],
      ["change", guard, id, epoch, EMAIL, newEmail],
    ]);
  });

  test("S38 is invalid after its minutes", () => {
    const start = Date.now();
    setClock(() => start);
    const token = links.verification(VERIFY);
    setClock(() => start + 59 * 60_000);
    expect(links.readVerification(token)).not.toBeNull();
    setClock(() => start + 60 * 60_000);
    expect(links.readVerification(token)).toBeNull();
  });

  test("S51 has a different lifetime for a new address", () => {
    const start = Date.now();
    setClock(() => start);
    const token = links.verification(CHANGE);
    setClock(() => start + 29 * 60_000);
    expect(links.readVerification(token)).not.toBeNull();
    setClock(() => start + 30 * 60_000);
    expect(links.readVerification(token)).toBeNull();
  });

  test("returns names, keys and addresses unchanged, regardless of their characters", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 60 }).filter((one) => one.isWellFormed());
    fc.assert(
      fc.property(text, text, text, text, fc.option(text), (guard, id, epoch, email, newEmail) => {
        const claim = { guard, id, epoch, email, newEmail };
        expect(links.readVerification(links.verification(claim))).toEqual(claim);
      }),
    );
  });

  test("is invalid if any character is changed", () => {
    const token = links.verification(CHANGE);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(..."AZaz09-_.~%\0é"), (at, character) => {
        fc.pre(token[at] !== character);
        expect(links.readVerification(token.slice(0, at) + character + token.slice(at + 1))).toBeNull();
      }),
    );
  });

  test.each([null, undefined, 1, {}, [], ["x"], "", ".", "..", "a.b.c", "x".repeat(10_000)])(
    "%j is not a verification token",
    (token) => {
      expect(links.readVerification(token)).toBeNull();
    },
  );
});

describe("a reset token", () => {
  test("contains its user, and is different each time", () => {
    const [first, second] = [links.reset(ADA), links.reset(ADA)];
    expect(links.readReset(first)).toEqual(ADA);
    expect(first).not.toBe(second);
  });

  test("contains no expiry, because its row in the table decides", () => {
    const token = links.reset(ADA);
    setClock(() => Date.now() + 100 * 365 * 86_400_000);
    expect(links.readReset(token)).toEqual(ADA);
  });

  test("holds 256 random bits", () => {
    const [value] = links.reset(ADA).split(".");
    const [, , , random] = JSON.parse(Buffer.from(value!, "base64url").toString()) as string[];
    expect(Buffer.from(random!, "base64url")).toHaveLength(32);
  });
});

describe("an undo token", () => {
  test("S51 contains the user whose change it undoes, is different each time, and expires after 72 hours", () => {
    const start = Date.now();
    setClock(() => start);
    const [first, second] = [links.undo(ADA), links.undo(ADA)];
    expect(first).not.toBe(second);
    setClock(() => start + 72 * 3_600_000 - 1000);
    expect(links.readUndo(first)).toEqual({ guard: "web", id: "1" });
    setClock(() => start + 72 * 3_600_000);
    expect(links.readUndo(first)).toBeNull();
  });
});

describe("S8 tokens are valid for one purpose only", () => {
  test("S8 a reset token verifies no address, and a verification token resets no password", () => {
    expect(links.readVerification(links.reset(ADA))).toBeNull();
    expect(links.readReset(links.verification(VERIFY))).toBeNull();
    expect(links.readReset(links.verification(CHANGE))).toBeNull();
  });

  test.each(KEY_PURPOSES)("S8 a value signed for %s is accepted only for that purpose", (purpose) => {
    const links = new AccountLinks(SECRET, LIFETIMES);
    const signer = new Signer(SECRET, purpose);
    const isFor = (name: string) => purpose instanceof KeyPurpose && String(purpose) === name;
    const verification = signer.sign(JSON.stringify(["verify", "web", "1", "epoch", EMAIL]));
    const reset = signer.sign(JSON.stringify(["web", "1", "epoch", "random"]));
    expect(links.readVerification(verification) !== null).toBe(isFor("email-verification"));
    expect(links.readReset(reset) !== null).toBe(isFor("password-reset"));
    const undo = signer.sign(JSON.stringify(["web", "1", "random"]));
    expect(links.readUndo(undo) !== null).toBe(isFor("email-change-undo"));
  });

  test("S8 a value signed with a different key is refused", () => {
    const others = new AccountLinks(generateSecret(), LIFETIMES);
    expect(links.readVerification(others.verification(VERIFY))).toBeNull();
    expect(links.readReset(others.reset(ADA))).toBeNull();
  });

  test("S8 a token signed with a previous key is still accepted, for its own purpose only, and the current key signs", () => {
    const next = generateSecret();
    const rotated = new AccountLinks(next, LIFETIMES, { previousSecrets: [SECRET] });
    const [verification, reset] = [links.verification(VERIFY), links.reset(ADA)];
    expect(rotated.readVerification(verification)).toEqual(VERIFY);
    expect(rotated.readReset(reset)).toEqual(ADA);
    expect([rotated.readVerification(reset), rotated.readReset(verification)]).toEqual([null, null]);
    expect(links.readVerification(rotated.verification(VERIFY))).toBeNull();
    expect(links.readReset(rotated.reset(ADA))).toBeNull();
    expect(new AccountLinks(next, LIFETIMES).readReset(rotated.reset(ADA))).toEqual(ADA);
  });

  test.each([
    ["one part missing", ["verify", "web", "1", EMAIL]],
    ["one part too many", ["verify", "web", "1", "epoch", EMAIL, EMAIL]],
    ["a change without an address", ["change", "web", "1", "epoch", EMAIL]],
    ["another kind", ["reset", "web", "1", "epoch", EMAIL]],
    ["another kind of a change", ["reset", "web", "1", "epoch", EMAIL, EMAIL]],
    ["only another kind", ["reset"]],
  ])("S8 %s is not a verification token, even with the right key", (_, parts) => {
    const token = new Signer(SECRET, new KeyPurpose("email-verification")).sign(JSON.stringify(parts));
    expect(links.readVerification(token)).toBeNull();
  });

  test.each([[["web", "1"]], [["web", "1", "random"]], [["web", "1", "epoch", "random", "more"]], [[]]])(
    "S8 %j is not a reset token",
    (parts) => {
      expect(
        links.readReset(new Signer(SECRET, new KeyPurpose("password-reset")).sign(JSON.stringify(parts))),
      ).toBeNull();
    },
  );

  test.each([[["web", "1"]], [["web", "1", "random", "more"]], [[]]])("S8 %j is not an undo token", (parts) => {
    expect(
      links.readUndo(new Signer(SECRET, new KeyPurpose("email-change-undo")).sign(JSON.stringify(parts))),
    ).toBeNull();
  });
});
