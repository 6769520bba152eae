import { certificateRemedy, type MaybePromise, now } from "../../support/index.ts";
import { type JwtAlgorithm, readJwks, type VerificationKey } from "../jwt/index.ts";
import { fetchJwks } from "./fetch-jwks.ts";

/** Where an issuer's keys are, and what they are for. */
export interface RemoteKeysSettings {
  /** The address of the JWK Set. */
  readonly jwks: URL;
  /** The authorities that its server's certificate must come from, in PEM; `null` for Node.js's own. */
  readonly ca: string | null;
  /** Their place in the settings: `config/api.ts: DRIVERS.partner`. */
  readonly where: string;
  /** The algorithms that tokens may be signed with. */
  readonly algorithms: readonly JwtAlgorithm[];
}

/** The log. */
interface KeyLogger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

/** More entries than any provider publishes. */
const MAX_KEYS = 100;

/** How long keys are used, in milliseconds. */
const MINUTE = 60_000;
/** An issuer that says how long its keys may be kept is believed within these bounds. */
const [SHORTEST_AGE, USUAL_AGE, LONGEST_AGE] = [MINUTE, 10 * MINUTE, 60 * MINUTE];
/** For how long the last keys are used while the issuer cannot be reached. */
const STALE_AGE = 24 * 60 * MINUTE;
/** How long after an attempt the next one may start, whatever tokens name. */
const COOL_DOWN = 30_000;

/**
 * The keys of another issuer: fetched when the application starts, kept for as long as the issuer says (one minute to one
 * hour, otherwise ten minutes), and fetched again then, or when a token names an unknown key.
 *
 * There is one attempt at a time, and at most one in thirty seconds, so tokens with made-up names cause no more. If an
 * attempt fails, the last keys are used for up to 24 hours, and one line in the log says so.
 */
export class RemoteKeys {
  readonly #settings: RemoteKeysSettings;
  readonly #logger: KeyLogger;
  readonly #closing = new AbortController();
  #keys: readonly VerificationKey[] = Object.freeze([]);
  #maxAge = USUAL_AGE;
  #fetchedAt: number | null = null;
  #attemptedAt: number | null = null;
  #isDown = false;
  #attempt: Promise<void> | null = null;

  constructor(settings: RemoteKeysSettings, logger: KeyLogger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** The keys that may be used now; `null` if there have been none for 24 hours. */
  get current(): readonly VerificationKey[] | null {
    return isWithin(this.#fetchedAt, STALE_AGE) ? this.#keys : null;
  }

  /**
   * Fetches the keys if it is time to, and waits for them. Not a promise if the present ones will do, as for nearly every
   * token.
   *
   * @param knows whether the present keys include the key that a token names
   */
  prepare(knows: (keys: readonly VerificationKey[]) => boolean): MaybePromise<void> {
    const { current } = this;
    const isKnown = current !== null && knows(current);
    if (isKnown && isWithin(this.#fetchedAt, this.#maxAge)) return;
    if (this.#mayAttempt) void this.refresh();
    // While the issuer is down, no request waits for it if the last keys will do.
    if (!isKnown || !this.#isDown) return this.#attempt ?? undefined;
  }

  /** Fetches the keys, or joins the attempt that is under way. It never rejects. */
  refresh(): Promise<void> {
    this.#attempt ??= this.#fetch().finally(() => {
      this.#attempt = null;
    });
    return this.#attempt;
  }

  /** Ends an attempt that is under way; called when the application shuts down. */
  close(): void {
    this.#closing.abort();
  }

  get #mayAttempt(): boolean {
    return this.#attempt === null && !isWithin(this.#attemptedAt, COOL_DOWN) && !this.#closing.signal.aborted;
  }

  async #fetch(): Promise<void> {
    const { jwks, ca, algorithms } = this.#settings;
    this.#attemptedAt = now();
    try {
      const { document, maxAgeSeconds } = await fetchJwks(jwks, this.#closing.signal, ca);
      const { keys, ignored } = readJwks(document, algorithms, MAX_KEYS);
      this.#accept(keys, ignored, maxAgeSeconds);
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  /** A complete document counts even if it has no usable key: an issuer withdraws its keys that way. */
  #accept(keys: readonly VerificationKey[], ignored: number, maxAgeSeconds: number | null): void {
    const hadNone = this.#fetchedAt !== null && this.#keys.length === 0;
    this.#keys = keys;
    this.#fetchedAt = now();
    this.#maxAge =
      maxAgeSeconds === null ? USUAL_AGE : Math.min(Math.max(maxAgeSeconds * 1000, SHORTEST_AGE), LONGEST_AGE);
    const about = { jwks: this.#settings.jwks.href, keys: keys.length, ignored };
    if (this.#isDown) this.#logger.info(about, "The keys of the issuer can be fetched again.");
    this.#isDown = false;
    if (keys.length > 0 || hadNone) return;
    this.#logger.warn(
      about,
      "The issuer publishes no key that its tokens may be signed with: all of them are refused.",
    );
  }

  #failed(error: Error): void {
    if (this.#isDown || this.#closing.signal.aborted) return;
    this.#isDown = true;
    const until = this.current === null ? "Its tokens cannot be verified" : "The last ones are used for up to 24 hours";
    const about = { jwks: this.#settings.jwks.href, reason: error.message };
    const remedy = certificateRemedy(error, this.#settings.where, null);
    this.#logger.warn(about, `The keys of the issuer cannot be fetched. ${until}.${remedy}`);
  }
}

/** Reports whether a time lies less than a duration back. A clock that was set back makes it count as long ago. */
function isWithin(since: number | null, durationMs: number): boolean {
  if (since === null) return false;
  const elapsed = now() - since;
  return elapsed >= 0 && elapsed < durationMs;
}
