import { randomBytes, timingSafeEqual } from "node:crypto";
import { availableParallelism } from "node:os";
import { AshlarError } from "../../support/index.ts";
import { type Argon2, loadArgon2 } from "./argon2.ts";
import { isBcrypt, verifyBcrypt } from "./bcrypt.ts";
import { lowerHashingPriority } from "./hashing-threads.ts";
import { Limiter } from "./limiter.ts";
import { isHashable } from "./password-rules.ts";
import { type Argon2Hash, type Argon2Parameters, formatPhc, parsePhc, readPhc } from "./phc.ts";

/** The minimum that OWASP recommends: 19 MiB, two passes, one lane. */
const PARAMETERS: Argon2Parameters = Object.freeze({
  variant: "argon2id",
  memory: 19_456,
  passes: 2,
  parallelism: 1,
  tagBytes: 32,
});
const PARAMETER_NAMES = Object.keys(PARAMETERS) as (keyof Argon2Parameters)[];
const SALT_BYTES = 16;

/** How many threads libuv has unless `UV_THREADPOOL_SIZE` says otherwise. */
const POOL_THREADS = 4;
/** At some 10 ms a hash, the last in line waits for less than a second. */
const MAX_WAITING_PER_THREAD = 64;

/** How a {@link PasswordHasher} works; what is left out suits the machine. */
export interface PasswordHasherOptions {
  /** How many hashes are computed at once, at least 1; {@link hashesAtOnce} where left out. */
  readonly concurrency?: number;
  /** How many wait for that at most; the next one is answered with `E_OVERLOADED`. */
  readonly maxWaiting?: number;
  /** @internal Loads Argon2, when it is first needed. */
  readonly load?: () => Promise<Argon2>;
}

/**
 * How many hashes are computed at once: one more than the machine has cores, so that no core idles while the loop deals
 * with the hash that has finished, but one less than the pool has threads, because reading files and looking up host
 * names need one too, or every other request would wait behind the logins.
 *
 * @param poolThreads how many threads libuv's pool has; 4 where left out, as it has unless `UV_THREADPOOL_SIZE` is set
 */
export function hashesAtOnce(poolThreads: number = POOL_THREADS): number {
  return Math.max(1, Math.min(availableParallelism() + 1, poolThreads - 1));
}

/**
 * Hashes and verifies passwords off the loop, a few at once.
 *
 * A hash takes a thread of libuv's pool, a core, and 19 MiB. The ones beyond {@link hashesAtOnce} wait in a line of 64 for
 * each of them, less than a second's work; beyond that the answer is 503, because a login that is answered after its
 * sender has given up costs as much as any other.
 */
export class PasswordHasher {
  readonly #limiter: Limiter;
  readonly #load: () => Promise<Argon2>;
  readonly #dummy: Argon2Hash = {
    parameters: PARAMETERS,
    salt: randomBytes(SALT_BYTES),
    // The hash of no password known to anyone: nothing has to be computed for it, and nothing matches it.
    tag: randomBytes(PARAMETERS.tagBytes),
  };
  #argon2: Promise<Argon2> | null = null;
  #givesWay = false;

  constructor(options: PasswordHasherOptions = {}) {
    const concurrency = options.concurrency ?? hashesAtOnce();
    this.#limiter = new Limiter(concurrency, options.maxWaiting ?? concurrency * MAX_WAITING_PER_THREAD);
    this.#load = options.load ?? loadArgon2;
  }

  /**
   * Hashes a password with argon2id (RFC 9106): 19456 KiB, two passes, one lane, a salt of 16 random bytes.
   *
   * Security: it refuses what cannot be hashed, not what is easily guessed; a password that somebody chooses goes
   * through `checkPassword` first.
   *
   * @param plain as it was typed: nothing is trimmed, folded or cut
   * @returns a PHC string of 97 characters
   * @throws `E_INVALID_PASSWORD` where it is empty, longer than 1024 bytes or not well-formed; `E_OVERLOADED`;
   * `E_MISSING_PACKAGE`
   */
  async hash(plain: string): Promise<string> {
    if (!isHashable(plain)) throw new AshlarError("E_INVALID_PASSWORD");
    const salt = randomBytes(SALT_BYTES);
    const tag = await this.#compute(plain, salt, PARAMETERS);
    return formatPhc({ parameters: PARAMETERS, salt, tag });
  }

  /**
   * Tells whether a password is the one that a hash was made of: Argon2 of any variant and of parameters up to 256 MiB,
   * 16 passes and 16 lanes, or bcrypt up to a cost of 14.
   *
   * A hash that is neither matches nothing, and takes as long as one that is.
   *
   * Security: bcrypt sees the first 72 bytes of a password and no more, and takes longer than {@link verifyDummy}, so that
   * time tells such an account from one that does not exist. Both end with the rehash that `needsRehash` asks for.
   *
   * @param hash as it is stored
   * @param plain as it was typed
   * @throws `E_OVERLOADED`; `E_MISSING_PACKAGE`
   */
  async verify(hash: string, plain: string): Promise<boolean> {
    if (isBcrypt(hash)) return isHashable(plain) && this.#limiter.run(() => verifyBcrypt(hash, plain));
    const parsed = parsePhc(hash);
    return parsed === null ? this.verifyDummy(plain) : this.#matches(parsed, plain);
  }

  /**
   * Does the work of verifying a password against a hash made here, and answers `false`: for accounts that do not exist,
   * so that the time taken does not tell them from those that do.
   *
   * @throws `E_OVERLOADED`; `E_MISSING_PACKAGE`
   */
  async verifyDummy(plain: string): Promise<false> {
    await this.#matches(this.#dummy, plain);
    return false;
  }

  async #matches({ parameters, salt, tag }: Argon2Hash, plain: string): Promise<boolean> {
    return isHashable(plain) && timingSafeEqual(await this.#compute(plain, salt, parameters), tag);
  }

  #compute(plain: string, salt: Buffer, parameters: Argon2Parameters): Promise<Buffer> {
    return this.#limiter.run(async () => {
      this.#argon2 ??= this.#load();
      const tag = await (await this.#argon2)(plain, salt, parameters);
      this.#giveWay();
      return tag;
    });
  }

  /** Done after the first hash: before it, the pool may have no threads. */
  #giveWay(): void {
    if (this.#givesWay) return;
    this.#givesWay = true;
    lowerHashingPriority();
  }
}

/**
 * Tells whether a hash was made otherwise than it would be now, so that the next login should replace it: other
 * parameters of Argon2, bcrypt, anything unknown.
 */
export function needsRehash(hash: string): boolean {
  const made = readPhc(hash);
  if (made === null || made.saltBytes < SALT_BYTES) return true;
  return PARAMETER_NAMES.some((name) => made.parameters[name] !== PARAMETERS[name]);
}
