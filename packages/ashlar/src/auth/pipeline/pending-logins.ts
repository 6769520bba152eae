import type { HttpContext } from "../../http/index.ts";
import { digest, KeyPurpose, type RotationOptions, randomToken, Sealer } from "../../security/index.ts";
import type {} from "../../session/index.ts";
import { currentDate, type MaybePromise, now, type RegisteredUser } from "../../support/index.ts";
import { type LoginProof, staleProof } from "../access/access-epoch.ts";
import { type LoginStore, PENDING_EPOCH } from "../logins/login-store.ts";
import type { LoginFlow } from "../proofs/login-flow.ts";
import type { GivenFactor, PassedStep } from "../proofs/login-methods.ts";
import type { LoginPurpose } from "../proofs/login-step.ts";
import { type LoginResult, type ProvedOptions, unproved } from "./complete-login.ts";

export const PENDING_LOGIN: KeyPurpose = new KeyPurpose("pending-login");
const MAX_AGE_SECONDS = 10 * 60;
/** What the texts for clients without a session begin with: neither a JWT nor a personal token does. */
const TEXT_PREFIX = "pending_";

/** The properties of a login that waits for a step. */
export interface WaitingLogin {
  /** The user's access epoch when the proof was given: once it differs, the proof is invalid. */
  readonly epoch: string;
  readonly purpose: LoginPurpose;
  /** The name of the step that it waits for, and its page. */
  readonly step: string;
  readonly page: string | null;
  /** The steps that were passed by their own proof. */
  readonly passed: readonly PassedStep[];
  readonly options: ProvedOptions;
}

/** The data about it in the visitor's session, or in the text that a client without a session has. */
export interface PendingClaim extends WaitingLogin {
  /** The user's primary key. */
  readonly id: string;
  /** The token of the row in the store of logins that completing it uses up; `null` if there is no store. */
  readonly token: string | null;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** The text that it was opened from; missing if it is in a session. */
  readonly text?: string;
}

/** The session data of an earlier version, without proofs, and with steps without their times. */
interface FormerClaim extends Omit<PendingClaim, "passed" | "options"> {
  readonly passed: readonly string[];
  readonly options: Partial<ProvedOptions>;
}

/** Security: a claim by an earlier version may come from a login without a proof, so it confirms nothing. */
function present(claim: PendingClaim | FormerClaim): PendingClaim {
  const { proof = null, ...options } = claim.options;
  const passed = claim.passed.map((step) => (typeof step === "string" ? { name: step, at: now() } : step));
  return { ...claim, passed, options: { ...unproved(options), proof } };
}

/**
 * A login that waits for a step, and can be resumed. It can be completed only once, even if the visitor's session is
 * restored.
 */
export interface PendingLogin<User extends object = RegisteredUser> {
  /** The user who has proved who they are, as stored now. */
  readonly user: User;
  /** The name of the step that the login waits for. */
  readonly step: string;
  /** Lists the ways in which its user can pass the step, for API clients. */
  flows(): Promise<readonly LoginFlow[]>;
  /** Continues, and asks the step again: for a step that checks the user's row, or data of this request. */
  resume(): Promise<LoginResult<User>>;
  /**
   * Continues without asking a step again, if its proof holds, such as a code. Attempts are counted by account and
   * step, under the limits `login.step` and `login.step.total`.
   *
   * ```ts
   * declare function isCodeOf(user: User, code: string): Promise<boolean>; // yours: an authenticator's, or one that was mailed
   *
   * const login = await auth.pendingLogin();
   * const code = request.bodyInput("code");
   * const result = await login?.pass("code", async () => typeof code === "string" && isCodeOf(login.user, code));
   * ```
   *
   * Security: check that the input is text, and that a code was issued. Two values that are both missing are equal.
   *
   * @param step the name of the step that the proof is for
   * @param verify returns whether this request passes the step: only `true` counts. Only called if the
   * login waits for this step, while there are attempts left
   * @param factor the proof that was given, if the step accepts several
   * @returns `pending` as before if the proof doesn't hold, or if the login waits for another step, which it names
   * @throws `E_TOO_MANY_REQUESTS`; `E_INVALID_CONFIGURATION` if the application has no limits
   */
  pass(step: string, verify: () => MaybePromise<boolean>, factor?: GivenFactor): Promise<LoginResult<User>>;
  /** Ends it: the visitor has to log in again from the beginning. */
  cancel(): Promise<void>;
}

/** The dependencies of {@link PendingLogins}. */
export interface PendingLoginsDependencies {
  /** The application's key. */
  readonly secret: () => string;
  /** The store of a guard's pending logins; `null` if there isn't one. */
  readonly storeOf: (guard: string) => LoginStore | null;
}

/**
 * Keeps logins that wait for a step for ten minutes, one for each guard and visitor.
 *
 * The data of the login is in the visitor's session, sealed for the guard. That alone could be replayed: a session in a
 * cookie cannot be revoked. So each pending login has a row in the guard's store of logins. Completing the login
 * deletes the row, and so does everything that ends access to the account. In every store, deleting it is one
 * conditional step, so if two requests complete the login at the same time, only one succeeds.
 *
 * A client without a session, as at the token endpoint, gets the data as a sealed text, which it sends back with the
 * step's proof. If no guard of the application has a store, nothing can use the text up: then it is valid until access
 * to the account ends, and only a proof that works once keeps it from completing twice.
 */
export class PendingLogins {
  readonly #dependencies: PendingLoginsDependencies;
  readonly #rotation: RotationOptions;
  #sealer: Sealer | null = null;

  constructor(dependencies: PendingLoginsDependencies, rotation: RotationOptions = {}) {
    this.#dependencies = dependencies;
    this.#rotation = rotation;
  }

  /**
   * Keeps a login.
   *
   * @param resumed the pending login that it continues; `null` if it is a new one. Its row is replaced once a step was
   * passed, which invalidates a client's copy of the earlier session.
   * @throws `E_STALE_PROOF` if access to the account has ended since the proof was given, or if the login that it
   * continues no longer exists
   */
  async keep(
    context: HttpContext,
    guard: string,
    waiting: WaitingLogin,
    proof: LoginProof,
    resumed: PendingClaim | null,
  ): Promise<void> {
    if (context.visitor === null) return;
    const claim = await this.#continue(context, guard, waiting, proof, resumed);
    if (claim === null || claim.token === null) return;
    // Sets a new identity, as at a login, because anyone who knew the old one would share the proof.
    context.visitor.regenerate();
    context.session.put(keyOf(guard), this.#seals.seal(guard, JSON.stringify(claim)));
  }

  /**
   * Keeps a login for a client without a session.
   *
   * @returns the text that continues it, for {@link open}
   * @throws the errors of {@link keep}
   */
  async hand(
    context: HttpContext,
    guard: string,
    waiting: WaitingLogin,
    proof: LoginProof,
    resumed: PendingClaim | null,
  ): Promise<string> {
    const claim = await this.#continue(context, guard, waiting, proof, resumed);
    if (claim === null) return resumed!.text!;
    return TEXT_PREFIX + this.#seals.seal(textNameOf(guard), JSON.stringify(claim));
  }

  /**
   * Opens the text of a login that waits, whether or not it was used up; `null` for anything else.
   *
   * @param text the text sent by a client, of any type
   */
  open(guard: string, text: unknown): PendingClaim | null {
    if (typeof text !== "string" || !text.startsWith(TEXT_PREFIX)) return null;
    const opened = this.#seals.open(textNameOf(guard), text.slice(TEXT_PREFIX.length), MAX_AGE_SECONDS);
    if (opened === null) return null;
    const claim = JSON.parse(opened) as PendingClaim;
    return now() < claim.expiresAt ? { ...claim, text } : null;
  }

  /** The pending login in the visitor's session, whether or not it was used up. */
  read(context: HttpContext, guard: string): PendingClaim | null {
    if (context.visitor === null) return null;
    const sealed = context.session.get(keyOf(guard));
    const opened = typeof sealed === "string" ? this.#seals.open(guard, sealed, MAX_AGE_SECONDS) : null;
    if (opened === null) return null;
    const claim = JSON.parse(opened) as PendingClaim | FormerClaim;
    return now() < claim.expiresAt ? present(claim) : null;
  }

  /** Reports whether a login has been neither completed nor ended. */
  async isOpen(guard: string, claim: PendingClaim): Promise<boolean> {
    const store = this.#dependencies.storeOf(guard);
    // Written so that a text from a time without a store doesn't count once there is one.
    if (claim.token === null) return store === null;
    const row = await store?.find(guard, digest(claim.token));
    return row?.accessEpoch === PENDING_EPOCH && String(row.userId) === claim.id;
  }

  /**
   * Uses a login up.
   *
   * @returns whether it still existed: `true` for only one caller, no matter how many try at the same time
   */
  async take(context: HttpContext, guard: string, claim: PendingClaim): Promise<boolean> {
    this.#forget(context, guard);
    const store = this.#dependencies.storeOf(guard);
    if (claim.token === null) return store === null;
    return (await store?.end({ guard, tokenHash: digest(claim.token) })) === true;
  }

  /**
   * Ends the visitor's pending login, if there is one.
   *
   * @param resumed the login that was continued, if it isn't in the visitor's session
   */
  async drop(context: HttpContext, guard: string, resumed: PendingClaim | null = null): Promise<void> {
    if (resumed?.text !== undefined) await this.take(context, guard, resumed);
    const claim = this.read(context, guard);
    if (claim === null) this.#forget(context, guard);
    else await this.take(context, guard, claim);
  }

  async #continue(
    context: HttpContext,
    guard: string,
    waiting: WaitingLogin,
    proof: LoginProof,
    resumed: PendingClaim | null,
  ): Promise<PendingClaim | null> {
    if (resumed === null) {
      await this.drop(context, guard);
      return this.#begin(guard, waiting, proof, now() + MAX_AGE_SECONDS * 1000);
    }
    // The session still lists it as pending.
    if (resumed.step === waiting.step) return null;
    if (!(await this.take(context, guard, resumed))) throw staleProof();
    return this.#begin(guard, waiting, proof, resumed.expiresAt);
  }

  async #begin(guard: string, waiting: WaitingLogin, proof: LoginProof, ends: number): Promise<PendingClaim> {
    const store = this.#dependencies.storeOf(guard);
    const { user } = proof;
    const id = String(user.authId());
    if (store === null) return { ...waiting, id, token: null, expiresAt: ends };
    const token = randomToken();
    const at = currentDate();
    const times = { authenticatedAt: null, methods: [], lastUsedAt: at, createdAt: at, expiresAt: new Date(ends) };
    const row = { guard, userId: user.authId(), tokenHash: digest(token), accessEpoch: PENDING_EPOCH, ...times };
    if ((await store.start({ ...row, ip: null, userAgent: null }, proof)) === null) throw staleProof();
    return { ...waiting, id, token, expiresAt: ends };
  }

  #forget(context: HttpContext, guard: string): void {
    if (context.visitor !== null) context.session.forget(keyOf(guard));
  }

  get #seals(): Sealer {
    this.#sealer ??= new Sealer(this.#dependencies.secret(), PENDING_LOGIN, this.#rotation);
    return this.#sealer;
  }
}

function textNameOf(guard: string): string {
  return `text\0${guard}`;
}

function keyOf(guard: string): string {
  return `pending_login ${guard}`;
}
