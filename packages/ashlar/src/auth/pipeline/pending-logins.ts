import type { HttpContext } from "../../http/index.ts";
import { KeyPurpose, type RotationOptions, Sealer } from "../../security/index.ts";
import type {} from "../../session/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import type { LoginOptions } from "../login-guard.ts";
import type { LoginResult } from "./login-step.ts";

const PENDING_LOGIN = new KeyPurpose("pending-login");
const MAX_AGE_SECONDS = 10 * 60;

/** What is kept of a login that waits for a step. */
export interface PendingClaim {
  /** The user's primary key. */
  readonly id: string;
  /** The user's access epoch when the proof was given: with another one the proof is void. */
  readonly epoch: string;
  /** The name of the step that it waits for, and its page. */
  readonly step: string;
  readonly page: string | null;
  /** The names of the steps that were passed by a proof of their own. */
  readonly passed: readonly string[];
  readonly options: LoginOptions;
}

/** A login that waits for a step, and can go on. */
export interface PendingLogin<User extends object = RegisteredUser> {
  /** The user who has proved who they are, as stored now. */
  readonly user: User;
  /** The name of the step that the login waits for. */
  readonly step: string;
  /** Goes on, and asks the step again: for one that looks at what the user's row says by now. */
  resume(): Promise<LoginResult<User>>;
  /**
   * Goes on without asking the step again.
   *
   * Security: call it only if this very request has proved what the step is about, such as a code from a device.
   */
  pass(): Promise<LoginResult<User>>;
}

/**
 * Keeps the logins that wait for a step, one for each guard, in the visitor's session: sealed, for the guard, for ten
 * minutes. Without a session, as at the token endpoint, nothing is kept.
 */
export class PendingLogins {
  readonly #makeSealer: () => Sealer;
  #sealer: Sealer | null = null;

  constructor(secret: () => string, options: RotationOptions = {}) {
    this.#makeSealer = () => new Sealer(secret(), PENDING_LOGIN, options);
  }

  keep(context: HttpContext, guard: string, claim: PendingClaim): void {
    if (context.visitor === null) return;
    // Under a new identity, as at a login: whoever knew the old one would share the proof.
    context.visitor.regenerate();
    context.session.put(keyOf(guard), this.#seals.seal(guard, JSON.stringify(claim)));
  }

  read(context: HttpContext, guard: string): PendingClaim | null {
    if (context.visitor === null) return null;
    const sealed = context.session.get(keyOf(guard));
    const opened = typeof sealed === "string" ? this.#seals.open(guard, sealed, MAX_AGE_SECONDS) : null;
    return opened === null ? null : (JSON.parse(opened) as PendingClaim);
  }

  forget(context: HttpContext, guard: string): void {
    if (context.visitor !== null && context.session.has(keyOf(guard))) context.session.forget(keyOf(guard));
  }

  get #seals(): Sealer {
    this.#sealer ??= this.#makeSealer();
    return this.#sealer;
  }
}

function keyOf(guard: string): string {
  return `pending_login ${guard}`;
}
