import type { Events } from "../../events/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import type { MaybePromise, Message, RegisteredUser } from "../../support/index.ts";
import type { Throttle } from "../../throttle/index.ts";
import {
  LoginPendingError,
  type LoginResult,
  NO_PASSWORD_YET,
  type PendingResult,
  PROOF_FAILED,
} from "../pipeline/complete-login.ts";
import { locatedFlows } from "../proofs/login-flow.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { Guard } from "./guard.ts";
import type { GuardRegistry } from "./guard-registry.ts";

/**
 * The guards of one request, one of which is active: each guard's user of the request, and the results of its last
 * login. `Auth` adds the operations.
 */
export abstract class RequestAuth {
  /** @internal The application's guards. */
  readonly registry: GuardRegistry;
  readonly #context: HttpContext;
  readonly #container: Container | null;
  readonly #guards = new Map<string, Guard>();
  /** The results of the last logins in this request, by guard. */
  readonly #results = new Map<string, LoginResult<object>>();
  #guardName: string;

  /** @param container has the application's events and limits; `null` to announce and count nothing */
  constructor(context: HttpContext, registry: GuardRegistry, container: Container | null) {
    this.#context = context;
    this.registry = registry;
    this.#container = container;
    this.#guardName = registry.defaultName;
  }

  /** @internal Returns a private field, so that printing this object doesn't show the request. */
  protected get context(): HttpContext {
    return this.#context;
  }

  /** The application's events; `null` if it has none. */
  get events(): Events | null {
    const container = this.#container;
    return container?.has("events") === true ? container.make("events") : null;
  }

  /** The application's limits; `null` if it has none. */
  get throttle(): Throttle | null {
    const container = this.#container;
    return container?.has("throttle") === true ? container.make("throttle") : null;
  }

  /** The name of the active guard. */
  get guardName(): string {
    return this.#guardName;
  }

  /** @internal The active guard. */
  protected get active(): Guard {
    return this.guardNamed(this.#guardName);
  }

  /** @internal A guard of this request, which isn't made the active one. */
  guardNamed(name: string): Guard {
    const made = this.#guards.get(name);
    if (made !== undefined) return made;
    const guard = this.registry.make(name, this.#context);
    this.#guards.set(name, guard);
    return guard;
  }

  /** @internal Makes a guard the active one. */
  protected activate(name: string): Guard {
    const guard = this.guardNamed(name);
    this.#guardName = name;
    this.#context.currentUser = guard.knownUser;
    return guard;
  }

  /** The user of this request according to the active guard, or `null`; looked up once, on the first call. */
  async user(): Promise<RegisteredUser | null> {
    return this.active.user();
  }

  /** @internal The same, without a promise if the guard needs none. */
  load(): MaybePromise<RegisteredUser | null> {
    return this.active.user();
  }

  /** Reports whether the request has a user according to the active guard. */
  check(): Promise<boolean> {
    return this.active.check();
  }

  /**
   * Reports whether what identifies the user, according to the active guard, may be used for something: an API token only
   * for its abilities, if it has any; a login for everything.
   *
   * ```ts
   * const canWrite = auth.tokenCan("orders.write");
   * ```
   *
   * Security: it doesn't cover the user's own permissions, which your code has to check too.
   *
   * @param ability the ability, as in tokens
   */
  tokenCan(ability: string): boolean {
    return this.active.tokenCan?.(ability) ?? true;
  }

  /**
   * The name of the step that a login with the active guard waits for: the last login of this request, or one that this
   * visitor began up to ten minutes ago. `null` if no login waits.
   */
  get pending(): string | null {
    return this.pendingStep?.step ?? null;
  }

  /** Why the last login of this request waits for a step; `null` if the step gave no reason. */
  get pendingReason(): Message | null {
    return this.pendingStep?.message ?? null;
  }

  /**
   * The sentence of the step that refused the last login of this request with the active guard; after a user without a
   * password tried to confirm one, the sentence that says so. Otherwise `null`.
   */
  get refusal(): Message | null {
    const last = this.#results.get(this.#guardName);
    if (last?.status !== "failed") return null;
    return last.step !== null || last === NO_PASSWORD_YET ? last.message : null;
  }

  /** @internal The step that a login with the active guard waits for; `null` if no login waits. */
  get pendingStep(): Omit<PendingResult, "status"> | null {
    const last = this.#results.get(this.#guardName);
    if (last !== undefined) return last.status === "pending" ? last : null;
    const claim = this.registry.pendingLogins.read(this.#context, this.#guardName);
    if (claim === null) return null;
    const { step, page } = claim;
    // Only the step can list its other flows, which takes a query.
    const flows = locatedFlows(this.#context, this.#guardName, page, [{ id: step }]);
    return { step, page, message: null, flows };
  }

  /** @internal Throws `E_LOGIN_PENDING` if a login with the active guard waits for a step: forms lead on to its page. */
  requireNoPendingStep(): void {
    const pending = this.pendingStep;
    if (pending !== null) throw new LoginPendingError(pending, pending.page);
  }

  /** @internal Stores the result of a login with a guard. */
  concluded(guard: string, result: LoginResult<object>): void {
    this.#results.set(guard, result);
  }

  /** @internal Forgets the result of an earlier confirmation in this request, such as the step that it waits for. */
  beginConfirmation(guard: string): void {
    this.concluded(guard, PROOF_FAILED);
  }

  /**
   * @internal A text that names the user whom this request's pages are shown to, as found so far; `null` for a guest,
   * and for a user who isn't identified by a login.
   */
  get ownerName(): string | null {
    const { keepsLogins, knownUser } = this.active;
    return keepsLogins && knownUser !== null ? this.nameOfOwner(this.#guardName, knownUser) : null;
  }

  /** @internal The same text for a guard's user. Guards with the same users have the same text for each of them. */
  nameOfOwner(guard: string, user: object): string {
    return `${this.registry.rowsOf(guard)} ${(user as Authenticatable).authId()}`;
  }

  /** @internal The name under which the visitor's session stores the page they wanted. */
  get intendedScope(): string | null {
    return this.#guardName === this.registry.defaultName ? null : this.#guardName;
  }

  /**
   * @internal Reports whether the visitor is logged in with another guard that, like this one, identifies its users by
   * something the browser keeps. A guard that fails counts as one without a user.
   */
  async isLoggedInElsewhere(name: string): Promise<boolean> {
    for (const other of this.registry.names) {
      if (other === name) continue;
      const guard = this.guardNamed(other);
      if (guard.keepsLogins && (await guard.check().catch(() => false))) return true;
    }
    return false;
  }
}

/** The {@link RequestAuth.ownerName} of a request. */
export function ownerNameOf({ auth }: HttpContext): string | null {
  return auth.ownerName;
}
