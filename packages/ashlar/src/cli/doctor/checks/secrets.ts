import { stat } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { secretProblem } from "../../../security/index.ts";
import { isLeftOut, now, readEnvFile } from "../../../support/index.ts";
import { isHmac } from "../../secrets/driver-secrets.ts";
import { hasApi } from "../features.ts";
import { type Check, error, type Finding, finding, warning } from "../finding.ts";
import { appKeyOf, hmacSecretsOf, previousKeysOf, replacing, type Secret, secretsOf } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";
import { driverSecretFindings } from "./driver-secrets.ts";
import { tokenKeyFindings } from "./token-keys.ts";

/** The variables with former or future values of another secret. */
const ROTATED: readonly string[] = ["APP_PREVIOUS_KEYS", "APP_NEXT_KEY"];
const DAY_MS = 86_400_000;
const PREVIOUS_DAYS = 90;

/**
 * Words that occur in secrets typed by people. They are long enough that fewer than one random secret in ten million
 * contains one by chance.
 */
const KNOWN_WORDS =
  /secret|changeme|change[-_ ]me|password|example|placeholder|replace[-_ ]|your[-_ ]|default|qwertyu|abcdefg|1234567/i;

/** Checks that the secrets are present, random, different, and readable only by the application's user. */
export const SECRETS: Check = {
  name: "Secrets",
  needsBoot: false,
  async run(subject: Subject): Promise<Finding[]> {
    if (subject.environmentError !== null) return [await unreadable(subject)];
    return [
      ...generatedFindings(subject),
      ...sharedFindings(subject),
      ...(await previousFindings(subject)),
      ...driverSecretFindings(subject),
      ...(await tokenKeyFindings(subject)),
      ...(await modeFindings(subject)),
    ];
  },
};

async function unreadable({ environmentError, root }: Subject): Promise<Finding> {
  const problem = environmentError instanceof Error ? environmentError.message : String(environmentError);
  const isFolder = (await stat(join(root, ".env")).catch(() => null))?.isDirectory() === true;
  if (!isFolder) return error("env.file", { file: ".env", problem, run: "chmod u+r .env" });
  // If a container mounts a missing file, a folder is created.
  const note = "Then copy .env.example to .env, and run npx ashlar key:generate.";
  return error("env.file", { file: ".env", problem, run: "rmdir .env", note });
}

function generatedFindings(subject: Subject): Finding[] {
  const ofDrivers = hmacSecretsOf(subject);
  const key = appKeyOf(subject);
  // Tests run with a random key.
  const needsKey = key !== "" || subject.environment !== "test";
  const needsJwtSecret = usesJwtSecret(subject) && !ofDrivers.some(({ driver }) => driver === "jwt");
  return [
    ...(needsKey ? findingsOf(subject, { name: "APP_KEY", value: key }) : []),
    ...(needsJwtSecret ? findingsOf(subject, { name: "JWT_SECRET", value: subject.variables.JWT_SECRET ?? "" }) : []),
    ...ofDrivers.flatMap((secret) => findingsOf(subject, secret)),
  ];
}

function findingsOf(subject: Subject, secret: Pick<Secret, "name" | "value" | "driver">): Finding[] {
  const { name, value, driver } = secret;
  if (value === "") {
    const note = subject.envFileNote ?? undefined;
    const run = "npx ashlar key:generate";
    return [error("secret.missing", { file: ".env", problem: `${name} is not set.`, run, ...(note && { note }) })];
  }
  const remedy = replacing(subject, secret);
  const where = { file: remedy.in, ...remedy };
  if (isExample(subject, name, value)) {
    const problem = `${name} has the value in .env.example, which everyone who has the repository knows.`;
    return [error("secret.known", { ...where, problem })];
  }
  const weak = secretProblem(value);
  if (weak !== null) {
    const isOther = driver !== undefined && driver !== "jwt" && !name.startsWith("DRIVERS.");
    const problem = `${name}${isOther ? `, the secret of DRIVERS.${driver},` : ""} ${weak}`;
    return [error("secret.weak", { ...where, problem })];
  }
  if (!KNOWN_WORDS.test(value)) return [];
  const problem = `${name} contains a word, so it was typed, or copied from an example: it can be guessed.`;
  return [error("secret.known", { ...where, problem })];
}

/** Reports whether tokens are, or will be, signed with `JWT_SECRET`. */
function usesJwtSecret(subject: Subject): boolean {
  const variable = subject.driverSecrets?.drivers.get("jwt")?.variables.secret ?? "JWT_SECRET";
  return hasApi(subject) && !hasOtherKey(subject) && variable === "JWT_SECRET";
}

/**
 * Tokens may be signed with a private key instead, with a secret that isn't text, or only by other drivers or issuers.
 */
function hasOtherKey(subject: Subject): boolean {
  const drivers = subject.settings("api", "DRIVERS");
  const jwt = drivers.jwt as { readonly algorithm?: unknown; readonly secret?: unknown } | undefined;
  if (jwt === undefined) return Object.keys(drivers).length > 0;
  if (Object.hasOwn(jwt, "jwks")) return true;
  return !isHmac(jwt.algorithm) || (!isLeftOut(jwt.secret) && typeof jwt.secret !== "string");
}

function isExample({ root }: Subject, name: string, value: string): boolean {
  const example = readEnvFile(join(root, ".env.example"));
  return example !== null && parseEnv(example)[name] === value;
}

function sharedFindings(subject: Subject): Finding[] {
  const [first, ...others] = secretsOf(subject).filter(({ name }) => !ROTATED.includes(name));
  const seen = first === undefined ? [] : [first];
  const findings: Finding[] = [];
  for (const secret of others) {
    const other = seen.find(({ value }) => value === secret.value);
    seen.push(secret);
    if (other === undefined) continue;
    const replaced = secret.isGenerated ? secret : other;
    const problem = `${secret.name} and ${other.name} are the same: anyone who learns one has the other.`;
    const remedy = replaced.isGenerated
      ? replacing(subject, replaced)
      : { note: `Set another password for ${secret.name}, on its server and in .env.` };
    findings.push(error("secret.shared", { file: ".env", problem, ...remedy }));
  }
  return findings;
}

async function previousFindings(subject: Subject): Promise<Finding[]> {
  const keys = previousKeysOf(subject);
  if (keys.length === 0) return [];
  const remaining = keys.filter((key) => key !== appKeyOf(subject) && secretProblem(key) === null);
  const remedy = { file: ".env", lines: ["APP_PREVIOUS_KEYS="] };
  if (remaining.length < keys.length) {
    const count = keys.length - remaining.length;
    const problem = `APP_PREVIOUS_KEYS has ${count === 1 ? "an entry that is" : `${count} entries that are`} weak, or the current key.`;
    const note = remaining.length === 0 ? {} : { note: "To keep the other entries, remove only this one." };
    return [error("secret.previous", { ...remedy, problem, ...note })];
  }
  const changed = await stat(join(subject.root, ".env")).catch(() => null);
  if (changed === null || subject.isSetOutside("APP_PREVIOUS_KEYS")) return [];
  const days = Math.floor((now() - changed.mtimeMs) / DAY_MS);
  if (days <= PREVIOUS_DAYS) return [];
  const problem = `APP_PREVIOUS_KEYS has been the same for ${days} days. What its keys signed has expired; if one leaks, it is still accepted.`;
  return [warning("secret.previous", { ...remedy, problem })];
}

async function modeFindings({ root, isProduction }: Subject): Promise<Finding[]> {
  // Windows doesn't have file modes.
  if (process.platform === "win32") return [];
  const file = await stat(join(root, ".env")).catch(() => null);
  if (file === null || (file.mode & 0o007) === 0) return [];
  const problem = "Every user of this machine can read .env, and with it the secrets.";
  return [finding("env.mode", isProduction ? "error" : "warning", { file: ".env", problem, run: "chmod 600 .env" })];
}
