import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type JwtKeyNames, jwtKeyNames, KEY_ALGORITHMS } from "../../../scaffold/index.ts";
import {
  createSigningKey,
  createVerificationKey,
  type JwtAlgorithm,
  type KeyMaterial,
  PAIR_ALGORITHMS,
} from "../../../security/jwt/index.ts";
import { AshlarError, isPlainObject, now } from "../../../support/index.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const DAY_MS = 86_400_000;
/** A staged key is promoted with the next deployment. */
const STAGED_DAYS = 7;

/** A driver of API tokens that signs with a private key, as `config/api.ts` writes it. */
interface SigningDriver {
  readonly name: string;
  readonly algorithm: JwtAlgorithm;
  readonly secret: unknown;
  readonly nextSecret: unknown;
}

/** The private keys that API tokens are signed with: present, of the right family, and not staged forever. */
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
  const names = await jwtKeyNames(subject.root, driver.name);
  const { secret, nextSecret, algorithm } = driver;
  if (isMissing(secret)) {
    const problem = `${names.current} is not set: DRIVERS.${driver.name} needs a private key for ${algorithm}.`;
    return [error("secret.missing", { file: ".env", problem, ...generating(driver) })];
  }
  const current = familyFinding(driver, names.current, secret);
  if (current !== null) return [current];
  if (isMissing(nextSecret)) return [];
  const next = familyFinding(driver, names.next, nextSecret);
  return next === null ? stagedFindings(subject, driver, names) : [next];
}

function familyFinding(driver: SigningDriver, name: string, key: unknown): Finding | null {
  const { algorithm } = driver;
  try {
    createSigningKey(algorithm, key as KeyMaterial);
    createVerificationKey(algorithm, key as KeyMaterial);
    return null;
  } catch (cause) {
    if (!(cause instanceof AshlarError)) throw cause;
    const problem = `${name} doesn't fit the algorithm ${algorithm} of DRIVERS.${driver.name}. ${cause.message}`;
    const note = "Or set the algorithm that the key is for. If another key signs from now on, all tokens end.";
    return error("key.family", { file: ".env", problem, lines: [`${name}=`], ...generating(driver), note });
  }
}

async function stagedFindings(subject: Subject, driver: SigningDriver, { next }: JwtKeyNames): Promise<Finding[]> {
  const changed = await stat(join(subject.root, ".env")).catch(() => null);
  if (changed === null || subject.isSetOutside(next)) return [];
  const days = Math.floor((now() - changed.mtimeMs) / DAY_MS);
  if (days <= STAGED_DAYS) return [];
  const problem = `${next} has held a staged key for ${days} days. Every process accepts it by now, so it can sign.`;
  return [warning("key.staged", { file: ".env", problem, ...generating(driver, " --promote") })];
}

/** The command that makes the driver's key; nothing for an algorithm that it makes no keys for. */
function generating({ name, algorithm }: SigningDriver, option = ""): { run?: string } {
  if (!(KEY_ALGORITHMS as readonly string[]).includes(algorithm)) return {};
  return { run: `npx ashlar key:generate --jwt ${algorithm}${name === "jwt" ? "" : ` --driver ${name}`}${option}` };
}

function isMissing(key: unknown): boolean {
  return key === undefined || key === null || key === "";
}
