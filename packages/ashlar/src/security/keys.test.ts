import { createHmac } from "node:crypto";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { FRAMEWORK_PURPOSES, KEY_PURPOSES } from "../../test/support/key-purposes.ts";
import { SigningKey, signJwt, tryVerifyJwt, VerificationKey } from "./jwt/index.ts";
import { declareKeyPurpose, deriveKey, deriveKeys, KeyPurpose } from "./keys.ts";
import { Sealer } from "./sealer.ts";
import { Signer } from "./signer.ts";

const SECRET = "yH3tq0pWm5cR8vK1uZ6xJ9bN4dF7gA2s-LeQoTiXwBkM";

/** HKDF-SHA256 with an empty salt (RFC 5869 §2), for a single block. */
function hkdf(secret: string, info: string): Buffer {
  const extracted = createHmac("sha256", Buffer.alloc(32)).update(secret).digest();
  return createHmac("sha256", extracted).update(`${info}\x01`).digest();
}

describe("deriveKey", () => {
  test("it is HKDF-SHA256 with the purpose as the label", () => {
    expect(deriveKey(SECRET, new KeyPurpose("device")).export()).toEqual(hkdf(SECRET, "ashlar/1/device"));
  });

  test("S8 purposes named by an application have their own namespace, without any of the framework's", () => {
    expect(deriveKey(SECRET, "device").export()).toEqual(hkdf(SECRET, "ashlar/1/application/device"));
    expect(FRAMEWORK_PURPOSES.length).toBeGreaterThan(5);
    for (const name of FRAMEWORK_PURPOSES) expect(name).toMatch(/^[a-z]+(?:-[a-z]+)*$/);
  });

  test("S8 no two places in the framework use the same purpose", () => {
    expect(FRAMEWORK_PURPOSES.toSorted()).toEqual([...new Set(FRAMEWORK_PURPOSES)].toSorted());
  });

  test.each(["", "\ud800", "x".repeat(257), 7, null])("%j cannot name a purpose", (purpose) => {
    const refusal = expect.objectContaining({ code: "E_INVALID_CONFIGURATION" });
    expect(() => deriveKey(SECRET, purpose as string)).toThrow(refusal);
    expect(() => new Signer(SECRET, purpose as string)).toThrow(refusal);
    expect(() => new Sealer(SECRET, purpose as string)).toThrow(refusal);
  });

  test("a purpose is named by at most 256 bytes", () => {
    const names = ["x".repeat(256), "é".repeat(128)];
    for (const name of names) expect(new Signer(SECRET, name).verify(new Signer(SECRET, name).sign("1"))).toBe("1");
    expect(() => deriveKey(SECRET, "é".repeat(129))).toThrow("well-formed text of 1 to 256 bytes");
  });

  test("S8 each purpose has its own key, and none is the secret", () => {
    const keys = new Set(KEY_PURPOSES.map((purpose) => deriveKey(SECRET, purpose).export().toString("hex")));
    keys.add(Buffer.from(SECRET).toString("hex"));
    expect(keys.size).toBe(KEY_PURPOSES.length + 1);
  });

  test("the same secret and purpose give the same key in every process", () => {
    expect(deriveKey(SECRET, "session").equals(deriveKey(SECRET, "session"))).toBe(true);
  });

  test("a key is not revealed when it is logged", () => {
    expect(JSON.stringify(deriveKey(SECRET, "session"))).toBe("{}");
  });

  test("S12 a weak secret is refused, and is not shown", () => {
    expect(() => deriveKey("hunter2", "session")).toThrow(
      expect.objectContaining({ code: "E_WEAK_SECRET", message: expect.not.stringContaining("hunter2") }),
    );
    expect(() => deriveKey("hunter2", "session")).toThrow(
      'the key for "session": the secret is shorter than 32 bytes.',
    );
  });

  test("the current secret's key comes first, then those of the previous ones", () => {
    const previous = `${SECRET}-previous`;
    const keys = deriveKeys(SECRET, [previous], "csrf");
    expect(keys.map((key) => key.export())).toEqual([
      deriveKey(SECRET, "csrf").export(),
      deriveKey(previous, "csrf").export(),
    ]);
  });
});

describe("declareKeyPurpose", () => {
  test("S8 a feature's purpose is in a separate namespace from strings and the framework", () => {
    const purpose = declareKeyPurpose("device");
    expect(deriveKey(SECRET, purpose).export()).toEqual(hkdf(SECRET, "ashlar/1/feature/device"));
    const others = ["device", "feature/device", "../feature/device", new KeyPurpose("device")];
    const token = new Signer(SECRET, purpose).sign("1");
    expect(new Signer(SECRET, purpose).verify(token)).toBe("1");
    expect(others.map((other) => new Signer(SECRET, other).verify(token))).toEqual([null, null, null, null]);
    const sealed = new Sealer(SECRET, purpose).seal("name", "1");
    expect(new Sealer(SECRET, purpose).open("name", sealed, 60)).toBe("1");
    expect(others.map((other) => new Sealer(SECRET, other).open("name", sealed, 60))).toEqual([null, null, null, null]);
  });

  test("the same file may declare a purpose again, and gets the same key", () => {
    const [one, other] = [declareKeyPurpose("shop-link"), declareKeyPurpose("shop-link")];
    expect(deriveKey(SECRET, one).equals(deriveKey(SECRET, other))).toBe(true);
  });

  test("S8 a purpose that is declared again, each time by code without a file, is refused", () => {
    // Deep enough that this test's frames aren't among the inspected ones.
    const source = "(function deeper(depth, work) { return depth === 0 ? work() : deeper(depth - 1, work); })";
    const deeper = runInThisContext(source) as (depth: number, work: () => unknown) => unknown;
    const declare = declareKeyPurpose.bind(null, "generated");
    deeper(20, declare);
    expect(() => deeper(20, declare)).toThrow('the key purpose "generated" is already declared by unknown.');
  });

  test.each(["", "\ud800", "x".repeat(257), 7, null])("%j is not a name", (name) => {
    const refusal = expect.objectContaining({ code: "E_INVALID_CONFIGURATION" });
    expect(() => declareKeyPurpose(name as string)).toThrow(refusal);
  });
});

describe("purposes", () => {
  const previousSecrets = [SECRET];
  const next = `${SECRET}-next`;
  const pairs = KEY_PURPOSES.flatMap((made) => KEY_PURPOSES.map((used) => [made, used] as const));

  test("S8 a signed value of one purpose is refused by every other", () => {
    for (const [made, used] of pairs) {
      const token = new Signer(SECRET, made).sign("1", { expiresInSeconds: 60 });
      expect([made, used, new Signer(SECRET, used).verify(token)]).toEqual([made, used, made === used ? "1" : null]);
    }
  });

  test("S8 a sealed value of one purpose is refused by every other", () => {
    for (const [made, used] of pairs) {
      const sealed = new Sealer(SECRET, made).seal("name", "1");
      const opened = new Sealer(SECRET, used).open("name", sealed, 60);
      expect([made, used, opened]).toEqual([made, used, made === used ? "1" : null]);
    }
  });

  test("S8 a value that a previous secret signed or sealed for one purpose is refused by every other", () => {
    for (const [made, used] of pairs) {
      const token = new Signer(SECRET, made).sign("1");
      const sealed = new Sealer(SECRET, made).seal("name", "1");
      const verified = new Signer(next, used, { previousSecrets }).verify(token);
      const opened = new Sealer(next, used, { previousSecrets }).open("name", sealed, 60);
      const expected = made === used ? "1" : null;
      expect([made, used, verified, opened]).toEqual([made, used, expected, expected]);
    }
  });

  test("S8 a signed value does not open as a sealed one, and a sealed value does not verify as a signed one", () => {
    for (const purpose of KEY_PURPOSES) {
      const signer = new Signer(SECRET, purpose);
      const sealer = new Sealer(SECRET, purpose);
      expect(sealer.open("name", signer.sign("1"), 60)).toBeNull();
      expect(signer.verify(sealer.seal("name", "1"))).toBeNull();
    }
  });

  test("S8 with one secret for everything, an API token does not verify as a signed value, nor a signed value as an API token", () => {
    const token = signJwt({ sub: "1" }, new SigningKey("HS256", SECRET));
    const keys = new VerificationKey("HS256", SECRET);
    expect(tryVerifyJwt(token, keys, {})).toMatchObject({ claims: { sub: "1" } });
    for (const purpose of KEY_PURPOSES) {
      const signer = new Signer(SECRET, purpose);
      const sealer = new Sealer(SECRET, purpose);
      expect(signer.verify(token)).toBeNull();
      expect(sealer.open("name", token, 60)).toBeNull();
      expect(tryVerifyJwt(signer.sign("1", { expiresInSeconds: 60 }), keys, {})).toHaveProperty("failure");
      expect(tryVerifyJwt(sealer.seal("name", "1"), keys, {})).toHaveProperty("failure");
    }
  });
});
