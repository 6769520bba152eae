import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type JwtKeyNames, jwtKeyNames } from "../../../scaffold/index.ts";
import {
  type JwtAlgorithm,
  KEY_ALGORITHMS,
  type KeyMaterial,
  keyCommand,
  PAIR_ALGORITHMS,
  SigningKey,
  VerificationKey,
} from "../../../security/jwt/index.ts";
import { AshlarError, isLeftOut, isPlainObject, now } from "../../../support/index.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { unreadFinding } from "./driver-secrets.ts";

const DAY_MS = 86_400_000;
/** A staged key is promoted with the next deployment. */
const STAGED_DAYS = 7;

/** An API token driver that signs with a private key, as written in `config/api.ts`. */
interface SigningDriver {
  readonly name: string;
  readonly algorithm: JwtAlgorithm;
  readonly secret: unknown;
  readonly nextSecret: unknown;
}

/** Checks that the private keys for API tokens are present, fit their algorithms, and aren't staged forever. */
export async function tokenKeyFindings(subject: Subject): Promise<Finding[]> {
  const found = await Promise.all(signingDriversOf(subject).map((driver) => findingsOf(subject, driver)));
  return found.flat();
}

function signingDriversOf(subject: Subject): SigningDriver[] {
  return Object.entries(subject.settings("api", "DRIVERS")).flatMap(([name, entry]) => {
    if (!isPlainObject(entry) || Object.hasOwn(entry, "jwks")) return [];
    const algorithm = PAIR_ALGORITHMS.find((one) => one === entry.algorithm);
    return algorithm === undefined ? [] : [{ name, algorithm, secret: entry.secret, nextSecret: entry.nextSecret }];
  });
}

async function findingsOf(subject: Subject, driver: SigningDriver): Promise<Finding[]> {
  const variables = subject.driverSecrets?.drivers.get(driver.name)?.variables;
  const names = jwtKeyNames(driver.name, variables);
  const { secret, nextSecret, algorithm } = driver;
  if (isLeftOut(secret)) {
    if (variables?.secret === null) return [unreadFinding(driver.name, algorithm, `private key for ${algorithm}`)];
    const problem = `${names.current} is not set: DRIVERS.${driver.name} needs a private key for ${algorithm}.`;
    return [error("secret.missing", { file: ".env", problem, run: keyCommand(driver.name, algorithm) })];
  }
  const current = familyFinding(driver, names.current, secret);
  if (current !== null) return [current];
  if (isLeftOut(nextSecret)) return [];
  const next = familyFinding(driver, names.next, nextSecret);
  return next === null ? stagedFindings(subject, driver, names) : [next];
}

function familyFinding(driver: SigningDriver, name: string, key: unknown): Finding | null {
  const { algorithm } = driver;
  try {
    new SigningKey(algorithm, key as KeyMaterial);
    new VerificationKey(algorithm, key as KeyMaterial);
    return null;
  } catch (cause) {
    if (!(cause instanceof AshlarError)) throw cause;
    const problem = `${name} doesn't fit the algorithm ${algorithm} of DRIVERS.${driver.name}. ${cause.message}`;
    const note = "Or set the algorithm that the key is for. If another key signs from now on, all tokens end.";
    const run = keyCommand(driver.name, algorithm);
    return error("key.family", { file: ".env", problem, lines: [`${name}=`], run, note });
  }
}

async function stagedFindings(subject: Subject, driver: SigningDriver, { next }: JwtKeyNames): Promise<Finding[]> {
  const changed = await stat(join(subject.root, ".env")).catch(() => null);
  if (changed === null || subject.isSetOutside(next)) return [];
  const days = Math.floor((now() - changed.mtimeMs) / DAY_MS);
  if (days <= STAGED_DAYS) return [];
  const problem = `${next} has held a staged key for ${days} days. Every process accepts it by now, so it can sign.`;
  const isNamed = KEY_ALGORITHMS.some((one) => one === driver.algorithm);
  const run = `${keyCommand(driver.name, driver.algorithm)} --promote`;
  return [warning("key.staged", { file: ".env", problem, ...(isNamed && { run }) })];
}
