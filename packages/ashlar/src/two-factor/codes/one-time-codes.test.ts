import { Secret, TOTP, URI } from "otpauth";
import { afterEach, describe, expect, test } from "vitest";
import { setClock } from "../../support/index.ts";
import { fromBase32, toBase32 } from "./base32.ts";
import { enrolmentOf } from "./enrolment.ts";
import { codeOf, codeOfTime, currentPeriod, newSecret, normalized, periodOf } from "./one-time-codes.ts";

/** The secret of the vectors in RFC 4226 and RFC 6238. */
const SECRET = toBase32(Buffer.from("12345678901234567890"));
const NOW = 1_900_000_010_000;

afterEach(() => setClock(null));

describe("codes", () => {
  test("are those of RFC 4226, appendix D", () => {
    const codes = Array.from({ length: 10 }, (_, counter) => codeOf(SECRET, counter));
    expect(codes).toEqual([
      ...["755224", "287082", "359152", "969429", "338314"],
      ...["254676", "287922", "162583", "399871", "520489"],
    ]);
  });

  test("are those of RFC 6238, appendix B, in six digits", () => {
    const times = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000, 20_000_000_000];
    const codes = times.map((seconds) => codeOfTime(SECRET, seconds));
    expect(codes).toEqual(["287082", "081804", "050471", "005924", "279037", "353130"]);
  });

  test("are those of otpauth, for any secret and time", () => {
    for (let round = 0; round < 200; round++) {
      const secret = newSecret();
      const timestamp = NOW + round * 7919_000;
      const app = new TOTP({ secret: Secret.fromBase32(secret) });
      expect(codeOfTime(secret, timestamp / 1000)).toBe(app.generate({ timestamp }));
    }
  });

  test("count for their period, the one before and the one after", () => {
    setClock(() => NOW);
    const now = currentPeriod();
    const periods = [-2, -1, 0, 1, 2].map((later) => periodOf(SECRET, codeOf(SECRET, now + later)));
    expect(periods).toEqual([null, now - 1, now, now + 1, null]);
  });

  test("may be typed with spaces, and nothing else is a code", () => {
    expect(normalized(" 123 456 ")).toBe("123456");
    for (const text of ["", "12345", "1234567", "12345a", "١٢٣٤٥٦", "-12345"]) expect(normalized(text)).toBeNull();
  });
});

describe("secrets", () => {
  test("have 160 random bits, as base32 reads them", () => {
    const secrets = Array.from({ length: 50 }, newSecret);
    expect(new Set(secrets).size).toBe(50);
    for (const secret of secrets) {
      expect(secret).toMatch(/^[A-Z2-7]{32}$/);
      expect(Buffer.from(Secret.fromBase32(secret).bytes)).toEqual(fromBase32(secret));
    }
  });

  test("base32 is that of RFC 4648, without padding", () => {
    const texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
    expect(texts.map((text) => toBase32(Buffer.from(text)))).toEqual([
      ...["", "MY", "MZXQ", "MZXW6", "MZXW6YQ", "MZXW6YTB", "MZXW6YTBOI"],
    ]);
    for (const text of texts) expect(fromBase32(toBase32(Buffer.from(text))).toString()).toBe(text);
  });

  test("are read by other apps from the address in the QR code, whatever the names contain", () => {
    const { uri, qr, groupedSecret } = enrolmentOf(SECRET, "Ada: Söhne & Co", "ada+1@example.com");
    const app = URI.parse(uri) as TOTP;
    expect({ ...app, secret: app.secret.base32 }).toMatchObject({
      ...{ issuer: "Ada  Söhne & Co", label: "ada+1@example.com", algorithm: "SHA1", digits: 6, period: 30 },
      secret: SECRET,
    });
    expect(groupedSecret).toBe("GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
    // Without styles, which the pages' policy doesn't allow, and without anything that runs.
    expect(qr).toMatch(
      /^<svg width="240" height="240" xmlns="[^"]+" viewBox="[^"]+">(?:<(?:rect|path) [^<>]*\/>)+<\/svg>$/,
    );
    expect(qr).not.toMatch(/style|on\w+=|href/);
  });
});
