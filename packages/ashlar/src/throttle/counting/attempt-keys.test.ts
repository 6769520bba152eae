import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { digest, normalizeEmail } from "../../security/index.ts";
import type { ThrottlePart } from "../limits/limit.ts";
import {
  accountDigest,
  addressBlock,
  isClientsOwn,
  type ThrottleKeys,
  throttleKey,
  widerBlock,
} from "./attempt-keys.ts";

const ipv4 = fc.ipV4();
/** Eight groups of 16 bits. The address is in 2000::/3, so it never represents an IPv4 address. */
const groups = fc.tuple(
  fc.integer({ min: 0x2000, max: 0x3fff }),
  ...Array.from({ length: 7 }, () => fc.integer({ min: 0, max: 0xffff })),
);
const written = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");

describe("the block of an address", () => {
  test.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:cb00:7107", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001:0002::", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    [null, null],
    ["", null],
    ["/run/app.sock", null],
    ["1.2.3", null],
  ])("S33 for %j is %s", (address, block) => {
    expect(addressBlock(address)).toBe(block);
  });

  test.each([
    ["2001:db8:1:2a3:4:5:6:7", 56, "2001:db8:1:200::/56"],
    ["2001:db8:1:2a3:4:5:6:7", 48, "2001:db8:1::/48"],
    ["2001:db8::1", 48, "2001:db8:0::/48"],
    ["203.0.113.7", 56, null],
    ["::ffff:203.0.113.7", 48, null],
    ["x", 48, null],
    [null, 56, null],
  ] as const)("S133 the wider block of %j with %i bits is %s", (address, length, block) => {
    expect(widerBlock(address, length)).toBe(block);
  });

  test("S33 is different for any two IPv4 addresses, and an IPv4-mapped address counts as its IPv4 address", () => {
    fc.assert(
      fc.property(ipv4, ipv4, (a, b) => {
        expect(addressBlock(a) === addressBlock(b)).toBe(a === b);
        expect(addressBlock(`::ffff:${a}`)).toBe(addressBlock(a));
      }),
    );
  });

  test("S33 is the same for two IPv6 addresses if and only if their first 64 bits are equal", () => {
    const pair = fc.tuple(groups, groups, fc.integer({ min: 0, max: 8 })).map(([a, b, shared]) => {
      return [a, [...a.slice(0, shared), ...b.slice(shared)]] as const;
    });
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const isSameNetwork = a.slice(0, 4).every((part, index) => part === b[index]);
        expect(addressBlock(written(a)) === addressBlock(written(b))).toBe(isSameNetwork);
      }),
    );
  });

  test("S33 is never the same for an IPv6 and an IPv4 address, and does not exist for other text", () => {
    fc.assert(
      fc.property(ipv4, groups, fc.string(), (four, six, text) => {
        const blocks = [addressBlock(four), addressBlock(written(six)), addressBlock(`${text}!`)];
        expect(new Set(blocks).size).toBe(3);
        expect(blocks[2]).toBeNull();
      }),
    );
  });
});

describe("the key of a bucket by account", () => {
  const by = ["account"] as const;

  test("is a digest of the account's digest", () => {
    expect(throttleKey(by, { account: "ann@example.com" })).toBe(digest(accountDigest("ann@example.com")!));
  });

  test("differs for each subject of an account, and without an account a subject changes nothing", () => {
    const [account, address] = ["ann@example.com", "203.0.113.7"];
    const subjects = [null, "totp", "email"];
    expect(new Set(subjects.map((subject) => throttleKey(by, { account, subject }))).size).toBe(3);
    expect(throttleKey(by, { account: null, subject: "totp", address })).toBe(throttleKey(by, { address }));
    expect(throttleKey(by, { account: null, subject: "totp" })).toBeNull();
  });
});

describe("the digest of an account", () => {
  test("has 43 characters, which do not contain the identifier", () => {
    expect(accountDigest("ann@example.com")).toMatch(/^[\w-]{43}$/);
    expect(accountDigest("ann@example.com")).not.toBe(accountDigest("bob@example.com"));
  });

  test.each([
    ["in capitals", "ANN@Example.COM"],
    ["with spaces around it", "  ann@example.com "],
    ["in wide letters", "ａｎｎ@example.com"],
  ])("S33 is the same for an address %s", (_, spelling) => {
    expect(accountDigest(spelling)).toBe(accountDigest("ann@example.com"));
  });

  test.each([
    ["with an accent", "ánn@example.com"],
    ["with an accent as a character of its own", "a\u0301nn@example.com"],
    ["with an invisible character in it", "a\u200bnn@example.com"],
    ["with a control character in it", "ann\u0000@example.com"],
  ])("S53 differs for an address %s, which no lookup treats as the same", (_, other) => {
    expect(normalizeEmail(other)).not.toBe("ann@example.com");
    expect(accountDigest(other)).not.toBe(accountDigest("ann@example.com"));
  });

  test("S53 is the same for two addresses exactly when they are stored in the same form", () => {
    const address = fc.oneof(
      fc.emailAddress(),
      fc.constantFrom("ann@example.com", "Ánn@example.com", "ÁNN@EXAMPLE.com"),
    );
    fc.assert(
      fc.property(address, address, (a, b) => {
        const [one, other] = [a, b].map((text) => normalizeEmail(text) ?? text);
        expect(accountDigest(a) === accountDigest(b)).toBe(one === other);
      }),
    );
  });

  test("S53 differs for a user name in another case, because that is a different account", () => {
    expect(accountDigest("Ann Smith")).not.toBe(accountDigest("ann smith"));
  });

  test.each([[null], [undefined], [7], [true], [["ann@example.com"]], [{ email: "ann@example.com" }], [""], ["  "]])(
    "S36 does not exist for %j",
    (identifier) => {
      expect(accountDigest(identifier)).toBeNull();
    },
  );

  test("of any text has 43 characters or does not exist, and nothing throws", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(accountDigest(text) ?? "-".repeat(43)).toMatch(/^[\w-]{43}$/);
      }),
    );
  });

  test("text longer than any account is cut, so it costs nothing", () => {
    const long = "\ufdfa".repeat(1_000_000);
    const digest = accountDigest(`${long.slice(0, 1024)}x`);
    const time = cpuTimeOf(() => {
      for (let i = 0; i < 20; i++) expect(accountDigest(long)).toBe(digest);
    });
    // Normalizing the whole text twenty times would take many seconds.
    expect(time).toBeLessThan(1000);
  });
});

describe("the key of a bucket", () => {
  const ann = { account: "ann@example.com", address: "203.0.113.7" };
  const bob = { account: "bob@example.com", address: "203.0.113.7" };
  const annElsewhere = { account: "ann@example.com", address: "203.0.113.8" };

  test("is a digest, whatever it is computed from", () => {
    for (const by of [["account"], ["address"], ["account", "address"]] as const) {
      for (const keys of [ann, { address: "::1" }, { account: "x".repeat(100_000), address: ann.address }]) {
        expect(throttleKey(by, keys)).toMatch(/^[\w-]{43}$/);
      }
    }
  });

  test("S33 by account and address distinguishes accounts and addresses", () => {
    const by = ["account", "address"] as const;
    expect(new Set([ann, bob, annElsewhere].map((keys) => throttleKey(by, keys))).size).toBe(3);
  });

  test("S33 by address alone distinguishes addresses, whatever the account", () => {
    expect(throttleKey(["address"], ann)).toBe(throttleKey(["address"], bob));
    expect(throttleKey(["address"], ann)).not.toBe(throttleKey(["address"], annElsewhere));
  });

  test("by account alone distinguishes accounts, whatever the address", () => {
    expect(throttleKey(["account"], ann)).toBe(throttleKey(["account"], annElsewhere));
    expect(throttleKey(["account"], ann)).not.toBe(throttleKey(["account"], bob));
  });

  test("S33 without an account, the address is used instead: one bucket for each, however the account is left out", () => {
    for (const by of [["account"], ["account", "address"]] as const) {
      const none = throttleKey(by, { address: "203.0.113.7" });
      expect(throttleKey(by, { account: null, address: "203.0.113.7" })).toBe(none);
      expect(throttleKey(by, { account: " ", address: "203.0.113.7" })).toBe(none);
      expect(throttleKey(by, { address: "203.0.113.8" })).not.toBe(none);
      expect(throttleKey(by, ann)).not.toBe(none);
    }
  });

  test("S54 without an address, a bucket by address is left out, and any other counts by account alone", () => {
    for (const address of [null, undefined, "", "nowhere", "/run/app.sock"]) {
      const keys = address === undefined ? { account: ann.account } : { account: ann.account, address };
      expect(throttleKey(["address"], keys)).toBeNull();
      expect(throttleKey(["account", "address"], keys)).toBe(throttleKey(["account"], ann));
      expect(throttleKey(["account", "address"], { ...keys, account: null })).toBeNull();
    }
  });

  test("S54 a client's proof is counted instead of its address, and never by address alone", () => {
    const [one, other] = ["device one", "device two"].map((proof) => ({ ...ann, proof }));
    const by = ["account", "address"] as const;
    expect(throttleKey(["address"], one!)).toBeNull();
    expect(throttleKey(by, one!)).toBe(throttleKey(by, { ...annElsewhere, proof: "device one" }));
    expect(
      new Set([one!, other!, ann, { ...bob, proof: "device one" }].map((keys) => throttleKey(by, keys))).size,
    ).toBe(4);
  });

  test("S53 the same text in two realms is two accounts, and within a realm it counts unchanged", () => {
    for (const by of [["account"], ["account", "address"]] as const) {
      const keys = ["users", "admins", null].map((realm) => throttleKey(by, { ...ann, realm }));
      expect(new Set(keys).size).toBe(3);
      expect(throttleKey(by, { ...ann, account: "ANN@example.com", realm: "users" })).not.toBe(keys[0]);
      expect(throttleKey(by, { ...ann, realm: "users" })).toBe(keys[0]);
      expect(throttleKey(by, { ...ann, account: "Xnn@example.com", realm: "users" })).not.toBe(keys[0]);
      const none = throttleKey(by, { address: ann.address });
      expect(throttleKey(by, { address: ann.address, account: null, realm: "users" })).toBe(none);
    }
  });

  test("S36 within a realm, too, text longer than any account is cut", () => {
    const key = (length: number) => throttleKey(["account"], { realm: "users", account: "x".repeat(length) });
    expect(key(1025)).toBe(key(1024));
    expect(key(1024)).not.toBe(key(1023));
  });

  test("a client may see a count by its address or its proof, but not one by account alone", () => {
    const own = (by: readonly ThrottlePart[], keys: ThrottleKeys) => isClientsOwn(by, keys);
    const pair = ["account", "address"] as const;
    expect([own(pair, ann), own(["address"], ann), own(["account"], ann)]).toEqual([true, true, false]);
    expect([own(pair, { proof: "device one" }), own(["account"], { proof: "device one" })]).toEqual([true, false]);
    expect([own(pair, {}), own(pair, { address: "nowhere" }), own(pair, { address: null })]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("no identifier produces the key of another account", () => {
    fc.assert(
      fc.property(fc.string(), ipv4, ipv4, (text, a, b) => {
        const by = ["account", "address"] as const;
        const forged = throttleKey(by, { account: `${text} ${a}`, address: b });
        expect(forged).not.toBe(throttleKey(by, { account: text, address: a }));
      }),
    );
  });
});
