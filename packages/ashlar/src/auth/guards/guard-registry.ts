import type { HttpContext } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import type { PasswordHasher } from "../../security/index.ts";
import { AshlarError, type MaybePromise, type Message, suggestion } from "../../support/index.ts";
import type { AskedStep } from "../pipeline/complete-login.ts";
import type { PendingLogins } from "../pipeline/pending-logins.ts";
import type { ProofRegistry } from "../proofs/proof-registry.ts";
import { type AuthenticatableClass, keepsSameRows } from "../users/authenticatable.ts";
import type { Guard } from "./guard.ts";
import { GuardPages } from "./guard-pages.ts";
import type { ConfiguredGuards } from "./guard-settings.ts";
import {
  type GuardDriver,
  GuardTable,
  type GuardTableParts,
  type GuardUsers,
  type RegisteredDriver,
} from "./guard-table.ts";
import { GuessedAccounts } from "./guesses.ts";
import type { UnlimitedRoutes } from "./unlimited-routes.ts";
import "../errors.ts";

/** A guard that requires fewer steps than another guard with the same users. */
export interface GuardWithFewerSteps {
  readonly guard: string;
  readonly other: string;
  /** The names of the steps that only the other guard asks for. */
  readonly steps: readonly string[];
}

/** Reopens accounts that were closed. */
export interface ClosedAccounts {
  /**
   * Reopens the account of a guard's user, whose login every step has let pass, in one transaction with it.
   *
   * @param enter makes the login take effect
   * @returns the user as stored now
   * @throws `E_STALE_PROOF`, with nothing changed, if access to the account has ended since the user was read, or it was
   * deleted
   */
  enterReopened<User extends object>(
    context: HttpContext,
    guard: string,
    user: User,
    enter: () => MaybePromise<void>,
  ): Promise<User>;
}

/** Checks a request of a user who is logged in; returns what the user has to do first, or `null`. */
type LoginCondition = (context: HttpContext, guard: Guard<object>) => MaybePromise<Message | null>;

/** What the guards of an application share. */
export interface GuardParts extends GuardTableParts {
  /** Keeps logins that wait for a step. */
  readonly pendingLogins: PendingLogins;
  /** Makes a class of users that a driver brings one of the application's. */
  readonly adopt?: (users: AuthenticatableClass) => void;
  /** See {@link GuardRegistry.requireUsable}. */
  readonly requireUsable?: (doors: string) => Promise<void>;
}

/**
 * Knows the application's guards by name: which driver makes each, who its users are, and which steps it requires.
 * Bound to the container as `auth`. {@link GuardPages} has the guards' pages, {@link GuessedAccounts} tracks guesses at
 * their accounts.
 */
export class GuardRegistry {
  readonly #settings: ConfiguredGuards;
  readonly #drivers = new Map<string, RegisteredDriver>();
  /** The pages of each guard. */
  readonly pages: GuardPages;
  /** The logins that wait for a step. */
  readonly pendingLogins: PendingLogins;
  /** The ways in which users can prove who they are. */
  readonly proofs: ProofRegistry;
  readonly #parts: GuardParts;
  #table: GuardTable | null = null;
  /** Whether all providers have registered their drivers. */
  #isBooted = false;
  #refuses: (user: object) => boolean = () => false;
  readonly #conditions: LoginCondition[] = [];
  /** The accounts that passwords are guessed at. */
  readonly guesses: GuessedAccounts = new GuessedAccounts(this);
  /** Warns of routes that check a password or send a mail without a limit; `null` in production. */
  unlimitedRoutes: UnlimitedRoutes | null = null;
  /** Reopens closed accounts; `null` without `AuthProvider`. */
  closedAccounts: ClosedAccounts | null = null;

  /**
   * @param settings the guards
   * @param router returns the router once there is one, for {@link pages}; before that, `null`
   * @param parts the data that the guards share
   */
  constructor(settings: ConfiguredGuards, router: () => Router | null, parts: GuardParts) {
    this.#settings = settings;
    this.pendingLogins = parts.pendingLogins;
    this.proofs = parts.proofs;
    this.#parts = parts;
    this.pages = new GuardPages(settings, router, () => this.#defaultOrNull);
  }

  /**
   * Registers a kind of guard; called by providers at boot. Entries in `GUARDS` name it:
   * `{ admin: { driver: "web" } }`.
   *
   * @param model the class of users, for a driver that is configured elsewhere. Such a driver is also a guard under its
   * own name, even if `GUARDS` does not mention it, and no entry of `GUARDS` may give it another model. The class belongs to
   * the application from then on, as if `GUARDS` named it.
   * @throws `E_INVALID_CONFIGURATION` if the name is taken, or after startup
   */
  registerDriver(name: string, make: GuardDriver, model: AuthenticatableClass | null = null): void {
    if (this.#table !== null) {
      throw new AshlarError("E_INVALID_CONFIGURATION", `The guard driver "${name}" was registered after the boot.`);
    }
    if (this.#drivers.has(name)) {
      const problem = `The guard driver "${name}" is registered twice: by two providers, or as a driver of config/api.ts.`;
      throw new AshlarError("E_INVALID_CONFIGURATION", `${problem} Give one of them another name.`);
    }
    if (model !== null) this.#parts.adopt?.(model);
    this.#drivers.set(name, { make, model });
  }

  /**
   * Makes sure that every configured guard can be created. Called once all providers have booted.
   *
   * @throws `E_INVALID_CONFIGURATION` if a guard's driver is not registered, or a setting cannot work
   */
  prepare(): void {
    this.#isBooted = true;
    this.#made.compareUsers();
  }

  /**
   * Checks what `AuthProvider` does, for a provider of guards that also works without it: that every guard can be created and
   * its users found, and that `ACCOUNTS.preventEnumeration` isn't set. Called in its `ready()`; does nothing if the application
   * has `AuthProvider`.
   *
   * @param doors the name of the places where users log in, for messages: `the token endpoints`
   * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_MISSING_PACKAGE`
   */
  async requireUsable(doors: string): Promise<void> {
    await this.#parts.requireUsable?.(doors);
  }

  /** Refuses logins of some users, as if their proof were wrong. Called when providers register. */
  refuseUsers(refuses: (user: object) => boolean): void {
    this.#refuses = refuses;
  }

  /** Reports whether a user may log in. */
  admits(user: object): boolean {
    return !this.#refuses(user);
  }

  /** Adds a condition that users who are logged in have to meet in each request. Called by providers at boot. */
  addCondition(condition: LoginCondition): void {
    this.#conditions.push(condition);
  }

  /** What a guard's user, who is logged in, has to do before the login counts; `null` if it counts. */
  async unmetBy(context: HttpContext, guard: Guard<object>): Promise<Message | null> {
    for (const condition of guard.keepsLogins ? this.#conditions : []) {
      const unmet = await condition(context, guard);
      if (unmet !== null) return unmet;
    }
    return null;
  }

  /** Hashes the passwords of the guards' users. */
  get hasher(): PasswordHasher {
    return this.#settings.hasher;
  }

  /** The names of all guards. */
  get names(): readonly string[] {
    return this.#made.names;
  }

  /**
   * The name of the guard that a request begins with.
   *
   * @throws `E_UNKNOWN_GUARD` if the application has no guard
   */
  get defaultName(): string {
    const name = this.#defaultOrNull;
    if (name !== null) return name;
    throw new AshlarError("E_UNKNOWN_GUARD", "The application has no guard. Name one in config/auth.ts: GUARDS.");
  }

  get #defaultOrNull(): string | null {
    return this.#made.defaultName;
  }

  /** @throws `E_UNKNOWN_GUARD` if no guard has this name, suggesting similar ones */
  checkName(name: string): void {
    if (!this.#made.guards.has(name)) {
      throw new AshlarError("E_UNKNOWN_GUARD", `No guard is named "${name}". ${suggestion(name, this.names)}`);
    }
  }

  /**
   * Creates a guard for one request.
   *
   * @throws `E_UNKNOWN_GUARD` if no guard has this name
   */
  make(name: string, context: HttpContext): Guard {
    this.checkName(name);
    return this.#made.guards.get(name)!.create(context);
  }

  /** The further steps of each login with a guard. */
  stepsOf(name: string): readonly AskedStep[] {
    const { steps } = this.#settings.guards.get(name) ?? this.#settings;
    return this.proofs.steps.length === 0 ? steps : [...steps, ...this.proofs.steps];
  }

  /**
   * Makes sure that all pages that guards and their steps need exist. Called when the application boots.
   *
   * @throws `E_INVALID_CONFIGURATION`
   */
  checkPages(): void {
    this.pages.check();
    for (const guard of this.names) {
      const model = this.modelOf(guard)!;
      for (const step of this.proofs.steps) {
        const { users } = step.proof;
        if (users === undefined || keepsSameRows(model, users)) this.pages.checkProofStep(guard, step);
      }
    }
  }

  /** The guards whose users can also log in with another guard that requires more steps. */
  get guardsWithFewerSteps(): readonly GuardWithFewerSteps[] {
    return this.names.flatMap((guard) => {
      const asked = new Set(this.stepsOf(guard).map(({ name }) => name));
      return this.names.flatMap((other) => {
        const steps = this.stepsOf(other).flatMap(({ name }) => (asked.has(name) ? [] : [name]));
        const isSame = steps.length > 0 && keepsSameRows(this.modelOf(guard)!, this.modelOf(other)!);
        return isSame ? [{ guard, other, steps }] : [];
      });
    });
  }

  /** The class of a guard's users; `null` if no guard has this name. */
  modelOf(name: string): AuthenticatableClass | null {
    return this.#made.guards.get(name)?.model ?? null;
  }

  /**
   * The class of a guard's users, for a feature that finds them.
   *
   * @throws `E_UNKNOWN_GUARD` if no guard has this name
   */
  usersOf(name: string): AuthenticatableClass {
    this.checkName(name);
    return this.#made.guards.get(name)!.model;
  }

  /**
   * Identifies the accounts of a guard when attempts are counted by account: the name of the first guard whose users
   * are the same rows and log in with the same identifier. Guards with the same class share this name; guards with
   * different tables never do.
   */
  realmOf(name: string): string {
    return this.#accountsOf(name).realm;
  }

  /**
   * Identifies the accounts of a guard when attempts are counted by primary key: the name of the first guard whose users
   * are the same rows, whatever they log in with.
   */
  rowsOf(name: string): string {
    return this.#accountsOf(name).rows;
  }

  #accountsOf(name: string): GuardUsers {
    return this.#made.guards.get(name)?.users ?? this.#made.usersOf(name);
  }

  /** The guards. They are created once, when they are first needed, at the latest at the end of startup. */
  get #made(): GuardTable {
    this.#table ??= new GuardTable(this.#settings, this.#drivers, this.#parts, this.#isBooted);
    return this.#table;
  }
}
