import { AshlarError, SettingsReader } from "../../support/index.ts";
import { DEFAULT_PARAMETERS, differsFrom } from "./hash-parameters.ts";
import { HashingThreads } from "./hashing-threads.ts";
import type { PasswordHasher } from "./password-hasher.ts";
import { isHashable } from "./password-rules.ts";
import { type Argon2Parameters, MAX_MEMORY, MAX_PARALLELISM, MAX_PASSES } from "./phc.ts";

/** One set for the whole process, whose cores they share. */
const threads = new HashingThreads();

/** What no password is hashed to, and no program ever stores. */
const NO_HASH = "";

/** What is verified at most is also the most that can be asked for. */
const MEMORY_KIB = [8, MAX_MEMORY] as const;
const PASSES = [1, MAX_PASSES] as const;
const LANES = [1, MAX_PARALLELISM] as const;

/**
 * The least memory, in KiB, for a number of passes: what the OWASP Password Storage Cheat Sheet recommends at least. Five
 * passes or more take the last.
 */
const LEAST_MEMORY_KIB = [47_104, 19_456, 12_288, 9_216, 7_168] as const;

/** What {@link argon2id} asks of the machine for each password. */
export interface Argon2idOptions {
  /** Memory in KiB; 19456 if left out. At most 262144 (256 MiB). */
  readonly memoryKiB?: number;
  /** Passes over the memory, from 1 to 16; 2 if left out. */
  readonly passes?: number;
  /** Lanes, from 1 to 16; 1 if left out. Each takes at least 8 KiB. */
  readonly lanes?: number;
}

/** Hashes by Argon2 on threads of their own; verifies hashes of any variant, and of bcrypt. */
export class Argon2Hasher implements PasswordHasher {
  readonly #parameters: Argon2Parameters;
  /** Whether it does so little work that only tests may use it. */
  readonly isForTests: boolean;

  constructor(parameters: Argon2Parameters) {
    const { memory, passes } = parameters;
    this.#parameters = Object.freeze(parameters);
    this.isForTests = memory < LEAST_MEMORY_KIB[Math.min(passes, LEAST_MEMORY_KIB.length) - 1]!;
  }

  async hash(plain: string): Promise<string> {
    if (!isHashable(plain)) throw new AshlarError("E_INVALID_PASSWORD");
    return threads.run({ hash: null, plain, parameters: this.#parameters }) as Promise<string>;
  }

  async verify(hash: string | null, plain: string): Promise<boolean> {
    const parameters = this.#parameters;
    return isHashable(plain) && (threads.run({ hash: hash ?? NO_HASH, plain, parameters }) as Promise<boolean>);
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
 * It verifies, beside its own, hashes of Argon2 of any variant and of parameters up to 256 MiB, 16 passes and 16 lanes, and
 * of bcrypt up to a cost of 14; the next login replaces them. What is neither matches nothing, and takes as long as a
 * hash of its own.
 *
 * Security: bcrypt sees the first 72 bytes of a password and no more, and takes longer than Argon2 does here, so that time
 * tells such an account from one that does not exist, until its next login.
 *
 * @throws `E_INVALID_CONFIGURATION` if an option is out of range, or the work is less than OWASP recommends at least: 46 MiB
 * for one pass, 19 MiB for two, 12 for three, 9 for four, 7 for five
 */
export function argon2id(options: Argon2idOptions = {}): PasswordHasher {
  const reader = new SettingsReader(options, "argon2id()", ["memoryKiB", "passes", "lanes"]);
  const { memory, passes, parallelism } = DEFAULT_PARAMETERS;
  const hasher = new Argon2Hasher({
    ...DEFAULT_PARAMETERS,
    memory: reader.integer("memoryKiB", memory, MEMORY_KIB),
    passes: reader.integer("passes", passes, PASSES),
    parallelism: reader.integer("lanes", parallelism, LANES),
  });
  if (!hasher.isForTests) return hasher;
  const least = LEAST_MEMORY_KIB.map((kib, index) => `${kib} for ${index + 1}`).join(", ");
  throw reader.problem(
    "memoryKiB",
    "is too little: whoever steals the table could try passwords quickly.",
    `Set it at least to what OWASP recommends for the number of passes: ${least} or more.`,
  );
}
