import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { generatePrivateKey } from "../../../security/jwt/index.ts";
import { searchedSecretsOf } from "../secrets-of.ts";
import { API } from "./api.ts";
import { SECRETS } from "./secrets.ts";
import { tokenKeyFindings } from "./token-keys.ts";

const ENVIRONMENT = pathToFileURL(join(import.meta.dirname, "../../../boot/environment/environment.ts")).href;
const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();
const [EC, OTHER] = [
  pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey),
  pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey),
];
const ED = pem(generateKeyPairSync("ed25519").privateKey);

/** The findings about an application with these drivers, and a `.env` of this age. */
async function findingsOf(drivers: object, days = 0): Promise<string[]> {
  const code = `export const DRIVERS = ${JSON.stringify(drivers)};\n`;
  return await findingsIn({ ".env": "APP_ENV=development\n", "config/api.ts": code }, days);
}

async function findingsIn(files: Readonly<Record<string, string>>, days = 0): Promise<string[]> {
  const subject = await subjectOf({ files });
  const then = Date.now() / 1000 - days * 86_400 - 60;
  utimesSync(join(subject.root, ".env"), then, then);
  const findings = await tokenKeyFindings(subject);
  for (const finding of findings) {
    for (const line of [...EC.split("\n"), ...ED.split("\n")].filter((one) => /^[\w+/=]{20,}$/.test(one))) {
      expect(JSON.stringify(finding)).not.toContain(line);
    }
  }
  return findings.map(({ severity, id, problem, remedy }) => `${severity} ${id}: ${problem} ${remedy.run}`);
}

test("a private key that fits its algorithm is not a finding, and secrets and other issuers need none", async () => {
  const jwt = { algorithm: "ES256", secret: EC, nextSecret: "", previousSecrets: null };
  expect(
    await findingsOf({ jwt, two: { algorithm: "EdDSA", secret: ED }, idp: { jwks: "https://id.example" } }),
  ).toEqual([]);
  expect(await findingsOf({ jwt: { secret: "" }, two: { algorithm: "HS256" } })).toEqual([]);
});

test("a missing key is an error, with the command that makes it, or what makes the driver read it", async () => {
  expect(await findingsOf({ jwt: { algorithm: "ES256", secret: "" }, admin: { algorithm: "ES384" } })).toEqual([
    "error secret.missing: DRIVERS.jwt has no private key for ES256, and reads none from a variable. npx ashlar key:generate",
    "error secret.missing: DRIVERS.admin has no private key for ES384, and reads none from a variable. npx ashlar key:generate",
  ]);
  const code = `import { env } from ${JSON.stringify(ENVIRONMENT)};
const key = env("A_KEY");
export const DRIVERS = { admin: { algorithm: "EdDSA", secret: key, nextSecret: env("STAGED") } };`;
  const read = (env: string) => findingsIn({ ".env": `APP_ENV=development\n${env}`, "config/api.js": code });
  expect(await read("")).toEqual([
    "error secret.missing: A_KEY is not set: DRIVERS.admin needs a private key for EdDSA. " +
      "npx ashlar key:generate --jwt EdDSA --driver admin",
  ]);
  expect(await read(`A_KEY=${JSON.stringify(ED)}\nSTAGED=${JSON.stringify(EC)}\n`)).toMatchObject([
    expect.stringMatching(/^error key\.family: STAGED doesn't fit the algorithm EdDSA/),
  ]);
});

test("a key of another family is an error, whether it signs or is staged", async () => {
  const command = "npx ashlar key:generate --jwt ES256";
  expect(await findingsOf({ jwt: { algorithm: "ES256", secret: ED } })).toEqual([
    `error key.family: JWT_PRIVATE_KEY doesn't fit the algorithm ES256 of DRIVERS.jwt. The key for ES256 cannot be used: it is not an elliptic curve key on prime256v1. ${command}`,
  ]);
  expect(await findingsOf({ jwt: { algorithm: "ES256", secret: EC, nextSecret: ED } })).toMatchObject([
    expect.stringMatching(/^error key\.family: JWT_NEXT_KEY doesn't fit the algorithm ES256/),
  ]);
});

test("a key that has been staged for more than a week is a warning, with the command that promotes it", async () => {
  const jwt = { algorithm: "ES256", secret: EC, nextSecret: OTHER };
  expect(await findingsOf({ jwt }, 7)).toEqual([]);
  expect(await findingsOf({ jwt }, 8)).toEqual([
    "warning key.staged: JWT_NEXT_KEY has held a staged key for 8 days. Every process accepts it by now, so it can sign. " +
      "npx ashlar key:generate --jwt ES256 --promote",
  ]);
  // The command doesn't generate such keys, and without the algorithm, it would promote APP_KEY.
  const [secret, nextSecret] = [await generatePrivateKey("ES384"), await generatePrivateKey("ES384")];
  expect(await findingsOf({ jwt: { algorithm: "ES384", secret, nextSecret } }, 8)).toEqual([
    expect.stringMatching(/^warning key\.staged: .* so it can sign\. null$/),
  ]);
});

test("a private key in .env is searched for in the repository, by one of its own lines", async () => {
  const env = `A_KEY=${JSON.stringify(EC)}\nB_KEY=${JSON.stringify(ED)}\n`;
  const subject = await subjectOf({ files: { ".env": env } });
  const found = searchedSecretsOf(subject).filter(({ name }) => ["A_KEY", "B_KEY"].includes(name));
  expect(found.map(({ value }) => value)).toEqual([EC.split("\n")[2], ED.split("\n")[1]]);
});

test("an application that only accepts the tokens of other issuers needs no secret, and no endpoints", async () => {
  const drivers = JSON.stringify({ idp: { issuer: "https://id.example/", jwks: "https://id.example/jwks.json" } });
  const files = {
    ".env": "APP_ENV=development\nAPP_KEY=x4Kq9ZrT2vLm8NwB6yHd3JfG7sPc5AeU1oViX0lRzQtWbYnMkSgDhFjCpEaOuIxv\n",
    "config/api.ts": `export const DRIVERS = ${drivers};\n`,
  };
  const subject = await subjectOf({ files });
  const ids = [...(await SECRETS.run(subject)), ...(await API.run(subject))].map(({ id }) => id);
  expect(ids.filter((id) => ["secret.missing", "api.config", "api.endpoints"].includes(id))).toEqual([]);
});
