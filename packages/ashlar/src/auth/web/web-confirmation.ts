import type { HttpContext } from "../../http/index.ts";
import { currentDate, type MaybePromise } from "../../support/index.ts";
import { announce } from "../events.ts";
import { provesOwnPassword } from "../guards/own-password.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import type { CompleteLogin, EntryOptions, ProvedOptions } from "../pipeline/complete-login.ts";
import { isConfirmedOtherwise } from "../proofs/confirmation.ts";
import { type GivenProof, withMethods } from "../proofs/login-methods.ts";
import { PASSWORD } from "../proofs/proof.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { type CurrentLogin, isRemembered, type RequestLogin } from "./request-login.ts";
import { renewToken } from "./token-renewal.ts";
import type { WebGuardDependencies } from "./web-guard-settings.ts";

/** The guard of the user who confirms, and the login. */
export interface ConfirmedGuard<User extends object> {
  readonly name: string;
  readonly context: HttpContext;
  readonly model: AuthenticatableClass;
  readonly own: RequestLogin;
  readonly dependencies: WebGuardDependencies;
  /** Finds the request's user. */
  user(): Promise<User | null>;
  /** See `LoginGuard.admitConfirmed`. */
  admit(
    user: User,
    options: ProvedOptions,
    takeEffect: (login: CompleteLogin<User>) => MaybePromise<boolean>,
  ): Promise<boolean>;
}

/** Applies a confirmation once the steps have accepted it; returns whether it still counts. */
type Effect<User extends object> = (login: CurrentLogin, confirmed: CompleteLogin<User>) => MaybePromise<boolean>;

/** Checks the request user's new proof of identity, and renews the request's login. */
export class WebConfirmation<User extends object> {
  readonly #guard: ConfirmedGuard<User>;

  constructor(guard: ConfirmedGuard<User>) {
    this.#guard = guard;
  }

  /** See `WebGuard.confirmPassword`. */
  async byPassword(password: unknown): Promise<boolean> {
    this.#begin();
    return (await this.#provesPassword(password)) && this.by({ by: PASSWORD });
  }

  /** See `WebGuard.confirm`. */
  async by({ by, amr }: EntryOptions & { readonly by: string }): Promise<boolean> {
    const proof = this.#guard.context.auth.registry.proofs.confirming(by, amr);
    this.#begin();
    const user = await this.#guard.user();
    return user !== null && this.#confirm(user, proof, (login, confirmed) => this.#renew(login, confirmed));
  }

  /** See `WebGuard.confirmForChange`. */
  async forChange(password: unknown): Promise<boolean> {
    const { context, own } = this.#guard;
    this.#begin();
    const user = await this.#guard.user();
    if (!(await this.#provesPassword(password))) return false;
    return this.#confirm(user!, context.auth.registry.proofs.given(PASSWORD), (login, { methods }) => {
      own.proveNext({ authenticatedAt: currentDate(), methods: withMethods(login.methods ?? [], methods) });
      return true;
    });
  }

  /** See `WebGuard.provesAgain`. */
  async again(password: unknown): Promise<boolean> {
    const { context, own } = this.#guard;
    const user = await this.#guard.user();
    const account = user as Authenticatable | null;
    const login = own.current;
    if (account === null || hasPassword(account) || !(await isConfirmedOtherwise(context, account, login))) {
      return this.#provesPassword(password);
    }
    const [first] = login?.methods ?? [];
    this.#begin();
    // The steps treat it like a password.
    return this.#confirm(user!, first === undefined ? null : { ...first, at: first.at.getTime() }, () => true);
  }

  /** Announces that the request's user could not prove who they are. */
  failed(user: User | null, by: string | null): false {
    const { context, name } = this.#guard;
    announce(context, "auth.failed", name, { user, identifier: null, by });
    return false;
  }

  #begin(): void {
    this.#guard.context.auth.beginConfirmation(this.#guard.name);
  }

  /** Reports whether a password belongs to the request's user. A wrong one is counted and announced as a failed login. */
  async #provesPassword(password: unknown): Promise<boolean> {
    const { context, name } = this.#guard;
    return provesOwnPassword(context, name, (await this.#guard.user()) as Authenticatable | null, password);
  }

  #confirm(user: User, proof: GivenProof | null, takeEffect: Effect<User>): Promise<boolean> {
    const { own, dependencies } = this.#guard;
    const login = own.current;
    const remember = login !== null && isRemembered(login, dependencies.settings);
    // If a step requires more, the login that follows replaces this one.
    return this.#guard.admit(user, { remember, proof }, (confirmed) => {
      return login === null || takeEffect(login, confirmed);
    });
  }

  async #renew(login: CurrentLogin, { user, methods: proved }: CompleteLogin<User>): Promise<boolean> {
    const { name: guard, model, own, dependencies } = this.#guard;
    const methods = withMethods(login.methods ?? [], proved);
    const renewable = { guard, model, login, user: user as unknown as Authenticatable };
    const renewed = await renewToken(dependencies, renewable, own.token!, methods);
    if (renewed === null) return this.failed(user, proved[0]?.by ?? null);
    own.replaceToken(login, renewed.token, renewed.confirmed);
    return true;
  }
}
