import { createSecretKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Member, Person } from "../../../test/support/people.ts";
import { type CompleteJwtSettings, readApiSettings } from "./driver-settings.ts";

const SECRET = `${"a".repeat(10)}0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ`;
const OTHER = `${"Z".repeat(10)}0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

/** The configuration from a driver's options, with a usable secret and model. */
function configured(options: object = {}) {
  return readApiSettings({ jwt: { secret: SECRET, model: Member, ...options } })[0] as CompleteJwtSettings;
}

describe("the options", () => {
  test("the options default to the values in the generated file, and all others to values that change nothing", () => {
    const { signingKey, verificationKeys, ...rest } = configured();
    expect([signingKey.algorithm, verificationKeys.map((key) => key.algorithm)]).toEqual(["HS512", ["HS512"]]);
    expect(rest).toEqual({
      kind: "issuing",
      name: "jwt",
      tokens: { kind: "single" },
      personal: null,
      abilitiesOf: null,
      model: Member,
      expiresInMinutes: null,
      authenticates: false,
      authenticationClaims: false,
      version: null,
      issuer: null,
      audience: null,
      reauthWithinMinutes: null,
      tokenInQuery: true,
      clockSkewSeconds: 30,
    });
  });

  test("every option is accepted", () => {
    const { signingKey, verificationKeys, ...rest } = configured({
      algorithm: "HS256",
      previousSecrets: [OTHER],
      expires: 60,
      authenticates: true,
      authenticationClaims: true,
      version: "2",
      issuer: "https://shop.example",
      audience: "shop",
      reauthWithinMinutes: 10_080,
      tokenInQuery: false,
      clockSkewSeconds: 5,
    });
    expect([signingKey.algorithm, verificationKeys.map((key) => key.algorithm)]).toEqual(["HS256", ["HS256", "HS256"]]);
    expect(rest).toEqual({
      kind: "issuing",
      name: "jwt",
      tokens: { kind: "single" },
      personal: null,
      abilitiesOf: null,
      model: Member,
      expiresInMinutes: 60,
      authenticates: true,
      authenticationClaims: true,
      version: "2",
      issuer: "https://shop.example",
      audience: "shop",
      reauthWithinMinutes: 10_080,
      tokenInQuery: false,
      clockSkewSeconds: 5,
    });
  });

  const PROTECTING = ["expires", "version", "issuer", "audience", "reauthWithinMinutes"];
  const OTHERS = ["algorithm", "previousSecrets", "authenticates", "tokenInQuery", "clockSkewSeconds"];

  test.each(PROTECTING)("a blank %s doesn't disable anything: it makes startup fail", (name) => {
    expect(() => configured({ [name]: "" })).toThrow(
      expect.objectContaining({
        code: "E_INVALID_CONFIGURATION",
        message: expect.stringMatching(`^config/api.ts: DRIVERS.jwt.${name}: is blank. Write .+, or leave it out.$`),
      }),
    );
  });

  test.each([
    [null, [...PROTECTING, ...OTHERS]],
    ["", OTHERS],
  ])("%j means the default, like a missing option", (nothing, all) => {
    const { signingKey, verificationKeys, ...rest } = configured(
      Object.fromEntries(all.map((name) => [name, nothing])),
    );
    const { signingKey: _, verificationKeys: __, ...defaults } = configured();
    expect([signingKey.algorithm, verificationKeys.length, rest]).toEqual(["HS512", 1, defaults]);
  });

  test("it is frozen", () => {
    expect(Object.isFrozen(configured())).toBe(true);
  });
});

describe("S1 the algorithm", () => {
  test.each(["none", "None", "NONE", "nOnE", "HS1", "hs512", "__proto__", 512, {}])("%j cannot be configured", (it) => {
    expect(() => configured({ algorithm: it })).toThrow(
      expect.objectContaining({
        code: "E_JWT_ALGORITHM",
        status: 500,
        // Generating a new secret wouldn't help.
        message: expect.stringMatching(/^config\/api\.ts: DRIVERS\.jwt\.algorithm: (?!.*JWT_SECRET).*[.?] ?$/),
      }),
    );
  });
});

describe("S2 the secret matches the algorithm's family", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });

  test.each([
    ["a private key", pem],
    ["a public key", publicKey.export({ type: "spki", format: "pem" })],
    ["a JWK", JSON.stringify(publicKey.export({ format: "jwk" }))],
    ["a set of JWKs", JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] })],
  ])("%s is not an HMAC secret", (_, secret) => {
    expect(() => configured({ algorithm: "HS256", secret })).toThrow(
      expect.objectContaining({
        code: "E_JWT_KEY",
        status: 500,
        message: expect.stringMatching(/^config\/api\.ts: DRIVERS\.jwt\.secret: /),
      }),
    );
  });

  test("an algorithm with key pairs accepts the private key in PEM, and verifies with its public key", () => {
    const { signingKey, verificationKeys } = configured({ algorithm: "ES256", secret: pem });
    expect([signingKey.algorithm, verificationKeys.map((key) => key.algorithm)]).toEqual(["ES256", ["ES256"]]);
  });

  test("an algorithm with key pairs accepts no other key", () => {
    expect(() => configured({ algorithm: "ES256" })).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    expect(() => configured({ algorithm: "RS256", secret: pem })).toThrow(
      expect.objectContaining({ code: "E_JWT_KEY" }),
    );
  });

  test("an error that is not about the key is passed on unchanged", () => {
    const broken = {
      get kty() {
        throw new RangeError("broken");
      },
    };
    expect(() => configured({ secret: broken })).toThrow(RangeError);
  });

  test("a previous secret is checked by the same rules, and the error names it", () => {
    expect(() => configured({ previousSecrets: [OTHER, "short"] })).toThrow(
      /^config\/api\.ts: DRIVERS\.jwt\.previousSecrets\[1\]: /,
    );
  });
});

describe("S12 a missing or weak secret", () => {
  test.each([
    ["is not set", undefined],
    ["is null", null],
    ["is blank", ""],
    ["is shorter than its hash", "a".repeat(63)],
  ])("%s: an error with the command that fixes it, and without the secret", (state, secret) => {
    const failing = () => configured({ secret });
    expect(failing).toThrow(expect.objectContaining({ code: "E_WEAK_SECRET" }));
    expect(failing).toThrow(/^config\/api\.ts: DRIVERS\.jwt\.secret: .*npx ashlar key:generate$/);
    expect(failing).not.toThrow(/aaa/);
    // The command doesn't change an existing secret, so the variable has to be emptied first.
    const isSet = state === "is shorter than its hash";
    expect(failing).toThrow(
      isSet
        ? /Empty the line of JWT_SECRET/
        : /: is missing\. If it is env\("JWT_SECRET"\), this environment variable is not set or empty\. Run/,
    );
  });
});

describe("S12 a secret that is long enough but not random", () => {
  const weak = ["a".repeat(86), "changeme".repeat(8), "0".repeat(64), "0123456789abcdef".repeat(4)];
  const forms: readonly (readonly [string, (text: string) => unknown])[] = [
    ["text", (text) => text],
    ["bytes", (text) => new TextEncoder().encode(text)],
    ["a KeyObject", (text) => createSecretKey(Buffer.from(text))],
    ["a JWK", (text) => ({ kty: "oct", k: Buffer.from(text).toString("base64url"), key_ops: ["sign", "verify"] })],
  ];

  test.each(forms)("as %s, fails startup with its location and a remedy, and is not shown", (_, form) => {
    for (const text of weak) {
      expect(() => configured({ secret: form(text) })).toThrow(
        expect.objectContaining({
          code: "E_WEAK_SECRET",
          message:
            "config/api.ts: DRIVERS.jwt.secret: The secret for HS512 is not random. " +
            "Empty the line of JWT_SECRET in .env, and run: npx ashlar key:generate",
        }),
      );
    }
  });

  test.each(forms)("as %s, is not used for verification either", (_, form) => {
    for (const text of weak) {
      expect(() => configured({ previousSecrets: [OTHER, form(text)] })).toThrow(
        expect.objectContaining({
          code: "E_WEAK_SECRET",
          message: expect.stringMatching(
            /^config\/api\.ts: DRIVERS\.jwt\.previousSecrets\[1\]: The secret for HS512 is not random\. Remove it/,
          ),
        }),
      );
    }
  });

  test.each(["HS256", "HS384", "HS512"])("%s accepts random secrets in every form", (algorithm) => {
    for (const [, form] of forms) {
      const { verificationKeys } = configured({
        algorithm,
        secret: form(randomBytes(64).toString("latin1")),
        previousSecrets: [form(randomBytes(64).toString("hex"))],
      });
      expect(verificationKeys).toHaveLength(2);
    }
  });
});

describe("S9 durations", () => {
  const wrong = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, "60", true, [60]];
  const cases = ["expires", "reauthWithinMinutes", "clockSkewSeconds"].flatMap((option) =>
    wrong.map((value) => [option, value] as const),
  );

  test.each(cases)("%s: %o is an error", (option, value) => {
    expect(() => configured({ [option]: value })).toThrow(`config/api.ts: DRIVERS.jwt.${option}: `);
  });
});

test.each([
  ["expires", "minutes"],
  ["reauthWithinMinutes", "minutes"],
  ["clockSkewSeconds", "seconds"],
])("%s is a number of %s, and the error says so", (option, unit) => {
  expect(() => configured({ [option]: "soon" })).toThrow(
    `is "soon". Write a whole number of ${unit}, 1 or more, or leave it out`,
  );
});

describe("other options", () => {
  test.each([
    ["authenticates", "yes"],
    ["tokenInQuery", 0],
    ["version", Number.NaN],
    ["version", {}],
    ["version", true],
    ["issuer", 5],
    ["audience", ["shop"]],
    ["previousSecrets", 5],
  ])("%s: %j is an error with its location", (option, value) => {
    expect(() => configured({ [option]: value })).toThrow(`config/api.ts: DRIVERS.jwt.${option}: `);
  });

  test.each([
    [{ version: {} }, "version: is an object. Write text or a number, or leave it out."],
    [{ previousSecrets: 5 }, "previousSecrets: is a number. Write a list: [oldSecret], or leave it out."],
  ])("%j causes an error that says what to write", (options, problem) => {
    expect(() => configured(options)).toThrow(`config/api.ts: DRIVERS.jwt.${problem}`);
  });

  test("each is an error with the code for its kind", () => {
    for (const wrong of [
      { expires: 0 },
      { authenticates: "yes" },
      { version: {} },
      { issuer: 5 },
      { previousSecrets: 5 },
    ]) {
      expect(() => configured(wrong)).toThrow(expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }));
    }
  });

  test.each([
    [[], "a list"],
    ["jwt", "text"],
  ])("DRIVERS is not an object: %j", (DRIVERS, shown) => {
    expect(() => readApiSettings(DRIVERS)).toThrow(`config/api.ts: DRIVERS: is ${shown}. Write an object: { jwt: … }.`);
  });

  test("an unknown option is an error with a suggestion", () => {
    expect(() => configured({ expire: 60 })).toThrow(
      'config/api.ts: DRIVERS.jwt.expire: is not a known setting. Did you mean "expires"?',
    );
  });

  test.each([[undefined], [{}], [{ jwt: null }]])(
    "a section without the driver is an error with the command that adds it: %j",
    (drivers) => {
      expect(() => readApiSettings(drivers)).toThrow(
        "config/api.ts: DRIVERS.jwt: is missing. Run npx ashlar api:install",
      );
    },
  );

  test.each([
    ["no class", "User", "is text. Write the class of your users"],
    ["nothing", undefined, "is missing. Write the class of your users"],
    ["null", null, "Write the class of your users"],
    ["an object that finds no users", {}, "is an object. Write the class of your users"],
    ["a class that is not a user", class Stone {}, "Stone lacks what the mixin Authenticates adds"],
    ["a user without tokens", Person, "Person lacks what the mixin AuthenticatesTokens adds"],
  ])("a model that is %s causes an error that names the missing part", (_, model, message) => {
    expect(() => configured({ model })).toThrow(
      expect.objectContaining({ code: "E_INVALID_MODEL", message: expect.stringContaining(message) }),
    );
  });

  test.each(["replaceToken", "holdsToken", "activateToken", "revokeToken"])(
    "a user without %s has no tokens",
    (name) => {
      class Almost extends Member {}
      const holder = name === "replaceToken" ? Almost : Almost.prototype;
      Object.defineProperty(holder, name, { value: undefined });
      expect(() => configured({ model: Almost })).toThrow("Almost lacks what the mixin AuthenticatesTokens adds");
    },
  );
});
