import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { buildApplication } from "../../../test/support/build-application.ts";
import { Member } from "../../../test/support/people.ts";
import { AuthProvider } from "../../auth/index.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { generateSecret } from "../../security/index.ts";
import { ApiProvider } from "../index.ts";
import { readApiSettings } from "./driver-settings.ts";

const IDP = {
  issuer: "https://id.example/",
  audience: "https://api.shop.example",
  jwks: "https://id.example/jwks.json",
  model: Member,
};

function configured(options: object = {}) {
  return readApiSettings({ idp: { ...IDP, ...options } })[0];
}

test("omitted options have defaults", () => {
  expect(configured()).toEqual({
    ...IDP,
    kind: "foreign",
    name: "idp",
    jwks: new URL(IDP.jwks),
    ca: null,
    algorithms: ["ES256", "ES384", "ES512", "RS256", "PS256", "EdDSA", "Ed25519"],
    typ: "at+jwt",
    user: null,
    tokenInQuery: false,
    clockSkewSeconds: 30,
  });
});

test("every option is accepted", () => {
  const options = { algorithms: ["RS256"], typ: null, user: () => null, clockSkewSeconds: 5 };
  expect(configured(options)).toMatchObject(options);
  expect(configured({ jwks: new URL(IDP.jwks) })).toMatchObject({ jwks: new URL(IDP.jwks) });
});

describe("S102 settings that would accept other tokens fail startup", () => {
  test.each<[object, string]>([
    [{ issuer: "" }, "issuer: is missing"],
    [{ issuer: undefined }, "issuer: is missing"],
    [{ audience: null }, "audience: is missing"],
    [{ audience: ["a"] }, "audience: is a list"],
    [{ algorithms: ["HS256"] }, 'algorithms[0]: is "HS256"'],
    [{ algorithms: ["none"] }, 'algorithms[0]: is "none"'],
    [{ algorithms: "ES256" }, "algorithms: is text"],
    [{ typ: 5 }, "typ: is a number"],
    [{ user: "sub" }, "user: is"],
    [{ clockSkewSeconds: 0 }, "clockSkewSeconds: is 0"],
    [{ clockSkewSeconds: 3600 }, "clockSkewSeconds: is 3600"],
    [{ secret: generateSecret() }, "secret: is not a known setting"],
    [{ tokenInQuery: true }, "tokenInQuery: is not a known setting"],
    [{ model: class {} }, "model: "],
  ])("S102 %j", (options, problem) => {
    expect(() => configured(options)).toThrow(`config/api.ts: DRIVERS.idp.${problem}`);
  });
});

describe("S103 the address of the keys", () => {
  test.each([
    ["http://id.example/jwks.json"],
    ["http://127.0.0.1.id.example/jwks.json"],
    ["http://localhost.id.example/jwks.json"],
    ["http://10.0.0.1/jwks.json"],
    ["http://[::2]/jwks.json"],
    ["ftp://id.example/jwks.json"],
    ["file:///etc/jwks.json"],
    ["data:application/json,{}"],
    ["https://user:password@id.example/jwks.json"],
    ["https://id.example/jwks.json#keys"],
    ["//id.example/jwks.json"],
    ["id.example/jwks.json"],
    [5],
    [null],
    [""],
  ])("S103 %j is refused", (jwks) => {
    expect(() => configured({ jwks })).toThrow(/^config\/api\.ts: DRIVERS\.idp\.jwks: /);
  });

  test.each([["http://127.0.0.1:8080/jwks.json"], ["http://localhost/jwks.json"], ["http://[::1]:80/jwks.json"]])(
    "S103 %s is accepted, but not in production",
    async (jwks) => {
      expect(configured({ jwks })).toMatchObject({ jwks: new URL(jwks) });
      const boot = (APP_ENV: string) =>
        buildApplication({
          routes: [],
          providers: [DatabaseProvider, AuthProvider, ApiProvider],
          config: { api: { DRIVERS: { idp: { ...IDP, jwks } } } },
          databases: { default: "main", main: { driver: "sqlite", path: ":memory:" } },
          environment: { APP_ENV, APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
          models: [],
        });
      await expect(boot("production")).rejects.toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: expect.stringContaining("DRIVERS.idp.jwks: is not https"),
      });
    },
  );
});

test("S102 two drivers that could accept each other's tokens fail startup", async () => {
  const both = { jwt: { secret: generateSecret(), model: Member }, one: IDP };
  const boot = (DRIVERS: object) =>
    buildApplication({
      routes: [],
      providers: [DatabaseProvider, AuthProvider, ApiProvider],
      config: { api: { DRIVERS }, auth: { GUARDS: { default: "one" } } },
      databases: { default: "main", main: { driver: "sqlite", path: ":memory:" } },
    });
  const refused = { code: "E_INVALID_CONFIGURATION", message: expect.stringContaining("same issuer and audience") };
  await expect(boot({ ...both, two: { ...IDP, jwks: "https://other.example/jwks.json" } })).rejects.toMatchObject(
    refused,
  );
  const { issuer, audience } = IDP;
  await expect(boot({ ...both, jwt: { ...both.jwt, issuer, audience } })).rejects.toMatchObject(refused);
  const { container } = await boot({ ...both, two: { ...IDP, audience: "https://admin.shop.example" } });
  expect(container.make("apiDrivers").all.map(({ name }) => name)).toEqual(["jwt", "one", "two"]);
});

test("S103 a CA for the issuer's server that can't be read, or that no https address uses, is refused at startup", async () => {
  const boot = (options: object) =>
    buildApplication({
      routes: [],
      providers: [DatabaseProvider, AuthProvider, ApiProvider],
      config: { api: { DRIVERS: { idp: { ...IDP, ...options } } } },
      databases: { default: "main", main: { driver: "sqlite", path: ":memory:" } },
    });
  const place = "config/api.ts: DRIVERS.idp.ca";
  await expect(boot({ ca: "missing.pem" })).rejects.toThrow(`${place}: is a file that can't be read (ENOENT).`);
  await expect(boot({ ca: "-----BEGIN PUBLIC KEY-----" })).rejects.toThrow(`${place}: is PEM without a certificate.`);
  const plain = { jwks: "http://127.0.0.1:1/jwks.json", ca: "ca.pem" };
  await expect(boot(plain)).rejects.toThrow(`${place}: is set, although jwks is not https.`);
});

test("an application may have only drivers of other issuers", async () => {
  const application = await buildApplication({
    routes: [],
    providers: [DatabaseProvider, AuthProvider, ApiProvider],
    config: { api: { DRIVERS: { idp: IDP } } },
    databases: { default: "main", main: { driver: "sqlite", path: ":memory:" } },
  });
  expect(application.container.make("auth").defaultName).toBe("idp");
  expect(() => application.container.make("api")).toThrow(expect.objectContaining({ code: "E_UNKNOWN_SERVICE" }));
});

describe("keys as text", () => {
  test("several former secrets may be separated by commas, and none is missing", () => {
    const [one, two] = [generateSecret(), generateSecret()];
    const read = (options: object) =>
      readApiSettings({ jwt: { secret: generateSecret(), model: Member, ...options } })[0];
    const count = (options: object) => {
      const driver = read(options);
      return driver?.kind === "issuing" ? driver.verificationKeys.length : 0;
    };
    expect([count({}), count({ previousSecrets: "" }), count({ nextSecret: "" })]).toEqual([1, 1, 1]);
    expect(count({ previousSecrets: `${one}, ${two},` })).toBe(3);
    expect(count({ previousSecrets: [one], nextSecret: two })).toBe(3);
    expect(() => read({ nextSecret: "weak" })).toThrow(/DRIVERS\.jwt\.nextSecret: /);
    expect(() => read({ previousSecrets: `${one},weak` })).toThrow(/DRIVERS\.jwt\.previousSecrets\[1\]: /);
  });

  test("a list of PEM files that was cut off is reported", () => {
    const pair = generateKeyPairSync("ed25519");
    const pem = pair.publicKey.export({ type: "spki", format: "pem" }).toString();
    const read = (previousSecrets: string) =>
      readApiSettings({ jwt: { algorithm: "EdDSA", secret: pair.privateKey, model: Member, previousSecrets } });
    expect(read(pem + pem)).toHaveLength(1);
    expect(() => read(pem + pem.slice(0, 60))).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
  });

  test("a missing private key is an error with the command that makes it", () => {
    const read = (name: string) => () => readApiSettings({ [name]: { algorithm: "ES256", secret: "", model: Member } });
    expect(read("jwt")).toThrow(/DRIVERS\.jwt\.secret: is missing\..* Run: npx ashlar key:generate --jwt ES256$/);
    expect(read("admin")).toThrow(expect.objectContaining({ code: "E_WEAK_SECRET" }));
    expect(read("admin")).toThrow(/key:generate --jwt ES256 --driver admin$/);
  });
});
