import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { folderWith, temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { KEY_ALGORITHMS, type KeyAlgorithm, pemBlocks, SigningKey } from "../../security/jwt/index.ts";
import { jwtKeyNames, writtenKeyVariables } from "./jwt-key-names.ts";
import { changeJwtKeys, type KeyChange } from "./jwt-keys.ts";

const NAMES = {
  current: "JWT_PRIVATE_KEY",
  next: "JWT_NEXT_KEY",
  previous: "JWT_PREVIOUS_KEYS",
  isRead: true,
};

async function envFile(text = ""): Promise<string> {
  const path = join(await temporaryFolder(), ".env");
  await writeFile(path, text);
  return path;
}

/** The variables in a file after these changes. */
async function after(path: string, algorithm: KeyAlgorithm, ...changes: KeyChange[]): Promise<Record<string, string>> {
  for (const change of changes) expect(await changeJwtKeys(path, algorithm, NAMES, change)).toBe(true);
  return { ...parseEnv(await readFile(path, "utf8")) } as Record<string, string>;
}

function publicPem(pem: string): string {
  return createPublicKey(pem).export({ type: "spki", format: "pem" }).toString();
}

describe.each(KEY_ALGORITHMS)("a key for %s", (algorithm) => {
  test("S101 is written as PEM on one line, and signs", async () => {
    const path = await envFile("A=1\n");
    const { JWT_PRIVATE_KEY } = await after(path, algorithm, "fill");
    expect(new SigningKey(algorithm, JWT_PRIVATE_KEY!).algorithm).toBe(algorithm);
    expect(createPrivateKey(JWT_PRIVATE_KEY!).type).toBe("private");
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^JWT_PRIVATE_KEY="-----BEGIN PRIVATE KEY-----\\n.*\\n-----END PRIVATE KEY-----\\n"$/);
  });

  test("S101 only the public half of a replaced key stays", async () => {
    const path = await envFile();
    const { JWT_PRIVATE_KEY: old } = await after(path, algorithm, "fill");
    const { JWT_PRIVATE_KEY, JWT_PREVIOUS_KEYS } = await after(path, algorithm, "rotate");
    expect(JWT_PRIVATE_KEY).not.toBe(old);
    expect(JWT_PREVIOUS_KEYS).toBe(publicPem(old!));
    expect(await readFile(path, "utf8")).not.toContain(old!.split("\n").at(-3));
  });

  test("S101 a staged key becomes the current one when it is promoted", async () => {
    const path = await envFile();
    const before = await after(path, algorithm, "fill");
    const staged = await after(path, algorithm, "stage");
    expect(staged).toEqual({ ...before, JWT_NEXT_KEY: expect.stringContaining("PRIVATE KEY") });
    expect(await after(path, algorithm, "promote")).toEqual({
      JWT_PRIVATE_KEY: staged.JWT_NEXT_KEY,
      JWT_NEXT_KEY: "",
      JWT_PREVIOUS_KEYS: publicPem(before.JWT_PRIVATE_KEY!),
    });
  });
});

test("S101 the newest 5 public keys are kept, newest first", async () => {
  const path = await envFile();
  const keys: string[] = [(await after(path, "EdDSA", "fill")).JWT_PRIVATE_KEY!];
  for (let round = 0; round < 7; round++) keys.push((await after(path, "EdDSA", "rotate")).JWT_PRIVATE_KEY!);
  const { JWT_PREVIOUS_KEYS } = parseEnv(await readFile(path, "utf8"));
  expect(pemBlocks(JWT_PREVIOUS_KEYS!)).toEqual(keys.toReversed().slice(1, 6).map(publicPem));
});

test("a key that is set is not replaced, and a missing one is not rotated", async () => {
  const path = await envFile();
  for (const change of ["rotate", "stage", "promote"] as const) {
    expect(await changeJwtKeys(path, "ES256", NAMES, change)).toBe(false);
  }
  expect(await readFile(path, "utf8")).toBe("");
  await after(path, "ES256", "fill");
  const before = await readFile(path, "utf8");
  expect(await changeJwtKeys(path, "ES256", NAMES, "fill")).toBe(false);
  expect(await readFile(path, "utf8")).toBe(before);
});

test("all other lines stay, and the file is readable only by its owner", async () => {
  const path = await envFile(`# mine\r\nA="two # three"\r\nJWT_PRIVATE_KEY=\r\nB=1\r\n`);
  await after(path, "ES256", "fill");
  const text = await readFile(path, "utf8");
  expect(text).toMatch(/^# mine\r\nA="two # three"\r\nJWT_PRIVATE_KEY="[^"\r\n]+"\r\nB=1\r\n$/);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dirname(path))).toEqual([".env"]);
});

describe("refusals", () => {
  const refusal = async (text: string, change: KeyChange, algorithm: KeyAlgorithm = "ES256") => {
    const path = await envFile(text);
    const error = await changeJwtKeys(path, algorithm, NAMES, change).then(
      () => null,
      (one: Error) => one,
    );
    expect(await readFile(path, "utf8")).toBe(text);
    expect(error).toMatchObject({ code: "E_COMMAND" });
    expect(error!.message).not.toMatch(/BEGIN|MC4C|MIGH/);
    return error!.message;
  };
  const line = (name: string, pem: string) => `${name}=${JSON.stringify(pem)}\n`;
  const pem = (type: "ed25519" | "p256") => {
    const { privateKey } =
      type === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" });
    return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  };

  test("a key of another family is not rotated", async () => {
    for (const change of ["rotate", "stage", "promote"] as const) {
      expect(await refusal(line("JWT_PRIVATE_KEY", pem("ed25519")), change)).toMatch(/not a private key for ES256/);
      expect(await refusal(`JWT_PRIVATE_KEY=${randomBytes(64).toString("base64url")}\n`, change)).toMatch(
        /not a private key/,
      );
      expect(await refusal(line("JWT_PRIVATE_KEY", publicPem(pem("p256"))), change)).toMatch(/not a private key/);
    }
    const mixed = line("JWT_PRIVATE_KEY", pem("p256")) + line("JWT_NEXT_KEY", pem("ed25519"));
    expect(await refusal(mixed, "promote")).toMatch(/JWT_NEXT_KEY is not a private key for ES256/);
  });

  test("a staged key is neither overwritten nor skipped", async () => {
    const text = line("JWT_PRIVATE_KEY", pem("p256")) + line("JWT_NEXT_KEY", pem("p256"));
    expect(await refusal(text, "stage")).toMatch(/already holds a staged key/);
    expect(await refusal(text, "rotate")).toMatch(/already holds a staged key.*--promote/);
  });

  test("without a staged key, there is nothing to promote", async () => {
    expect(await refusal(line("JWT_PRIVATE_KEY", pem("p256")), "promote")).toMatch(
      /no key is staged. Run: .*--rotate --stage/,
    );
  });

  test("a value that spans several lines is left to its author", async () => {
    const text = `JWT_PRIVATE_KEY="${pem("p256")}"\n`;
    expect(await refusal(text, "rotate")).toMatch(/spans several lines/);
  });
});

describe("a driver's variables", () => {
  const NONE = { secret: null, nextSecret: null, previousSecrets: null };

  test("a new application's driver gets its own variables beside JWT_SECRET", () => {
    const usual = { current: "JWT_PRIVATE_KEY", next: "JWT_NEXT_KEY", previous: "JWT_PREVIOUS_KEYS" };
    expect(jwtKeyNames("jwt")).toEqual(usual);
    expect(jwtKeyNames("jwt", { ...NONE, secret: "JWT_SECRET", nextSecret: "JWT_NEXT_SECRET" })).toEqual(usual);
    expect(jwtKeyNames("a-b").current).toBe("A_B_PRIVATE_KEY");
  });

  test("they are those that the driver reads, and otherwise the usual ones", () => {
    expect(jwtKeyNames("admin", { ...NONE, secret: "ADMIN_SIGNING_KEY", nextSecret: "STAGED" })).toEqual({
      current: "ADMIN_SIGNING_KEY",
      next: "STAGED",
      previous: "ADMIN_PREVIOUS_KEYS",
    });
  });

  test("in the text of a file that can't be loaded, they are those in this driver's own entry", async () => {
    const code = `throw new Error("not today");
const key = env("CONSTANT_KEY");
export const DRIVERS = {
  // jwt: { secret: env("COMMENTED_OUT_KEY") },
  "partner-jwt": { secret: env("PARTNER_KEY") },
  constant: { algorithm: "ES256", secret: key },
  either: { secret: env("ONE") ?? env("OTHER") },
  jwt: { tokens: many({ accessMinutes: 5 }), secret: env("JWT_KEY"), nextSecret: env('JWT_NEXT') },
  "admin": { secret: env("ADMIN_KEY", "")!, nested: { secret: env("INNER") } },
} satisfies DriversSettings;`;
    const root = folderWith({ "config/api.ts": code });
    const read = async (driver: string) => await writtenKeyVariables(root, driver);
    expect(await read("jwt")).toEqual({ secret: "JWT_KEY", nextSecret: "JWT_NEXT", previousSecrets: null });
    expect(await read("partner-jwt")).toEqual({ ...NONE, secret: "PARTNER_KEY" });
    expect(await read("admin")).toEqual({ ...NONE, secret: "ADMIN_KEY" });
    for (const driver of ["constant", "either"]) expect(await read(driver)).toEqual(NONE);
    for (const driver of ["partner", "secret", "nested"]) expect(await read(driver)).toBeNull();
    expect(await writtenKeyVariables(folderWith({ "config/api.ts": "export const = {" }), "jwt")).toBeNull();
    expect(await writtenKeyVariables(folderWith({}), "jwt")).toBeNull();
  });
});
