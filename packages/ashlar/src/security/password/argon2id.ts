import {
  AshlarError,
  ConfigurationError,
  derived,
  integer,
  quoted,
  settings,
  type TracedHash,
  text,
  traceChannels,
  traced,
} from "../../support/index.ts";
import {
  type Argon2Parameters,
  DEFAULT_PARAMETERS,
  differsFrom,
  MAX_MEMORY,
  MAX_PARALLELISM,
  MAX_PASSES,
} from "./argon2-hash.ts";
import { type HashingJob, HashingThreads, type HashingUsage } from "./hashing-threads.ts";
import type { PasswordHasher } from "./password-hasher.ts";
import { isHashable } from "./password-rules.ts";
import { unknownHash } from "./verifiable-hashes.ts";
import "../errors.ts";

/** All hashers in the process share these threads, because they share its cores. */
const threads = new HashingThreads();

/** The queue of passwords for the process's threads. */
export function hashingUsage(): HashingUsage {
  return threads.usage;
}

function run(operation: TracedHash["operation"], job: HashingJob): Promise<string | boolean> {
  if (!traceChannels.hash.hasSubscribers) return threads.run(job);
  return traced(traceChannels.hash, { operation }, () => threads.run(job));
}

/** A hash that no password matches, and that is never stored. */
const NO_HASH = "";

/** The limits for verification also apply to these options. */
const SCHEMA = settings<Argon2idSettings>()({
  memoryKiB: integer({ from: 8, to: MAX_MEMORY, unit: "KiB" }, DEFAULT_PARAMETERS.memory),
  passes: integer({ from: 1, to: MAX_PASSES }, DEFAULT_PARAMETERS.passes),
  lanes: integer({ from: 1, to: MAX_PARALLELISM }, DEFAULT_PARAMETERS.parallelism),
  imported: derived(text(null), (beginning, where) => (beginning === null ? null : likeImported(beginning, where))),
});

/** @throws `E_INVALID_CONFIGURATION` if no verifiable hash begins like that */
function likeImported(beginning: string, where: string): string {
  const hash = unknownHash(beginning);
  if (hash !== null) return hash;
  // The value isn't quoted, because it could be a complete hash copied from the table.
  const remedy = `Write their first characters, without salt and hash: ${quoted("$2y$12$")}, ${quoted("$scrypt$n=16384,r=8,p=1$")}.`;
  throw new ConfigurationError(where, "is not the beginning of a verifiable hash.", remedy);
}

/**
 * The minimum memory, in KiB, for a number of passes, as the OWASP Password Storage Cheat Sheet recommends. The last
 * entry is for five passes or more.
 */
const LEAST_MEMORY_KIB = [47_104, 19_456, 12_288, 9_216, 7_168] as const;

/** The settings of {@link argon2id}: the resources that it uses for each password. */
export interface Argon2idSettings {
  /** Memory in KiB; default: 19456. At most 262144 (256 MiB). */
  readonly memoryKiB?: number;
  /** The number of passes over the memory, from 1 to 16; default: 2. */
  readonly passes?: number;
  /** The number of lanes, from 1 to 16; default: 1. Each takes at least 8 KiB. */
  readonly lanes?: number;
  /**
   * The beginning of imported hashes, up to the salt, such as `$2y$12$` or `$scrypt$n=16384,r=8,p=1$`. While it is set,
   * verifying a password always includes the work of both algorithms. Response times then don't distinguish between
   * accounts with an imported hash, accounts that have logged in since, and addresses without an account. Remove it
   * when there are no more such hashes. Default: none.
   */
  readonly imported?: string | null;
}

/** Hashes with Argon2 on dedicated threads. Verifies hashes of any Argon2 variant, and of bcrypt, scrypt and PBKDF2. */
export class Argon2Hasher implements PasswordHasher {
  readonly #parameters: Argon2Parameters;
  /** Whether its work is so little that only tests may use it. */
  readonly isForTests: boolean;
  readonly #imported: string | null;

  constructor(parameters: Argon2Parameters, imported: string | null = null) {
    const { memory, passes } = parameters;
    this.#imported = imported;
    this.#parameters = Object.freeze(parameters);
    this.isForTests = memory < LEAST_MEMORY_KIB[Math.min(passes, LEAST_MEMORY_KIB.length) - 1]!;
  }

  async hash(plain: string): Promise<string> {
    if (!isHashable(plain)) throw new AshlarError("E_INVALID_PASSWORD");
    return run("hash", { hash: null, plain, parameters: this.#parameters }) as Promise<string>;
  }

  async verify(hash: string | null, plain: string): Promise<boolean> {
    if (!isHashable(plain)) return false;
    const job = { hash: hash ?? NO_HASH, plain, parameters: this.#parameters, imported: this.#imported };
    return run("verify", job) as Promise<boolean>;
  }

  needsRehash(hash: string): boolean {
    return differsFrom(this.#parameters, hash);
  }
}

/**
 * Hashes passwords off the event loop, with argon2id (RFC 9106) and a salt of 16 random bytes. Hashes are PHC strings.
 *
 * ```ts
 * // config/auth.ts
 * export const PASSWORDS = { hasher: argon2id({ memoryKiB: 65_536, passes: 3 }) };
 * ```
 *
 * It also verifies hashes by other software, which the user's next login replaces:
 *
 * - Argon2 of any variant, up to 256 MiB, 16 passes and 16 lanes;
 * - bcrypt up to a cost of 14: `$2a$`, `$2b$`, `$2y$`;
 * - scrypt up to 256 MiB: `$scrypt$n=16384,r=8,p=1$<salt>$<hash>`, or `ln=14` instead of `n`. With `p=1,nfkc=1`, the
 *   password is normalized first, as some software does;
 * - PBKDF2 up to 2,000,000 iterations: `$pbkdf2-sha256$i=310000$<salt>$<hash>`, also `sha1` and `sha512`.
 *
 * For scrypt and PBKDF2, salts and hashes are in base64 without padding, as in every PHC string. A hash of any other
 * kind never matches, and takes as long as an argon2id hash. Use `isVerifiableHash` to find such hashes.
 *
 * Security: bcrypt uses only the first 72 bytes of a password. Verifying an imported hash doesn't take the same time as
 * a current one, so until the user's next login, response times distinguish such an account from one that doesn't
 * exist. `imported` prevents that.
 *
 * @throws `E_INVALID_CONFIGURATION` if a setting is out of range, or if the work is less than OWASP's minimum: 46 MiB
 *   for one pass, 19 MiB for two, 12 for three, 9 for four, 7 for five
 */
export function argon2id(options: Argon2idSettings = {}): PasswordHasher {
  const { memoryKiB: memory, passes, lanes: parallelism, imported } = SCHEMA.read(options, "argon2id()");
  const hasher = new Argon2Hasher({ ...DEFAULT_PARAMETERS, memory, passes, parallelism }, imported);
  if (!hasher.isForTests) return hasher;
  const least = LEAST_MEMORY_KIB.map((kib, index) => `${kib} for ${index + 1}`).join(", ");
  throw new ConfigurationError(
    "argon2id().memoryKiB",
    "is too little: an attacker with the table could try passwords quickly.",
    `Set it to at least OWASP's minimum for the number of passes: ${least} or more.`,
  );
}
