import type { HttpContext } from "../../http/index.ts";
import { userKey } from "../../kernel/index.ts";
import type { MaybePromise, Message, RegisteredUser } from "../../support/index.ts";
import { staleProof } from "../access/access-epoch.ts";
import { LoginGuard } from "../guards/login-guard.ts";
import type { AccountUser } from "../users/account-store.ts";
import { asAuthenticatable } from "../users/authenticatable.ts";
import type { BlockDetails } from "./access/account-blocks.ts";
import { removeMethod } from "./access/remove-method.ts";
import type { AccountServices } from "./account-services.ts";
import type { AccountEvents, EventPageOptions } from "./history/account-history.ts";
import { asAccountUser } from "./users/account-user.ts";

/**
 * Operations on the account of a given user, performed by the user or by others: listing proofs, ending access,
 * blocking, deleting. `Accounts` adds the operations that visitors perform on their own accounts.
 */
export abstract class AccountAdministration {
  readonly #context: HttpContext;
  readonly #services: AccountServices;

  constructor(context: HttpContext, services: AccountServices) {
    this.#context = context;
    this.#services = services;
  }

  /** @internal Returns a private field, so that printing this object doesn't show the request. */
  protected get context(): HttpContext {
    return this.#context;
  }

  /** @internal Not a field either: it has the whole application. */
  protected get services(): AccountServices {
    return this.#services;
  }

  /**
   * The ways in which a user of any guard can prove who they are: the password first, and then the others in the order
   * of their declaration.
   *
   * To remove one, see {@link removeMethod}.
   */
  async methodsOf(user: RegisteredUser): Promise<
    readonly {
      /** The name of the proof: `password`, `passkey`. */
      readonly name: string;
      /** The factors it satisfies, as values of RFC 8176. */
      readonly amr: readonly string[];
      /** Whether a login can begin with it. */
      readonly startsLogins: boolean;
      /** The page of the active guard on which the user can prove it again; `null` if there isn't one. */
      readonly url: string | null;
      /** The text of a link to that page; `null` if the feature doesn't offer one. */
      readonly label: Message | null;
    }[]
  > {
    const { auth, t } = this.#context;
    const proofs = await auth.registry.proofs.ownedBy(asAuthenticatable(user));
    return proofs.map(({ name, amr, startsLogins = false, page, label }) => {
      return {
        name,
        amr,
        startsLogins,
        url: page !== undefined && auth.hasRoute(page) ? auth.route(page) : null,
        label: label === undefined ? null : t.message(label),
      };
    });
  }

  /**
   * Removes one of the ways in which a user of any guard can log in, such as a passkey, unless the user couldn't begin
   * a login without it:
   *
   * ```ts
   * declare const passkeys: { remove(id: string): Promise<void> }; // yours
   *
   * async function remove({ accounts, request }: HttpContext) {
   *   if (await accounts.removeMethod(request.user()!, () => passkeys.remove(request.param("id")!))) return;
   *   throw new ValidationError({ passkey: ["This is your only way to log in. Set a password first."] });
   * }
   * ```
   *
   * The decision is made while the user's row is locked, so if the last two are removed at the same time, one of them
   * stays. Users of an `AccountStore` can't be locked.
   *
   * @param remove deletes it, in the same transaction
   * @returns whether it was removed; `false`, with nothing changed, if it is the last one
   * @throws what `remove` throws
   */
  removeMethod(user: RegisteredUser, remove: () => MaybePromise<void>): Promise<boolean> {
    const account = this.#ofAnyGuard(user);
    const isAnotherLeft = async () => (await this.methodsOf(user)).some(({ startsLogins }) => startsLogins);
    return removeMethod(this.#services, account, remove, isAnotherLeft);
  }

  /**
   * What has happened to the account of a user of any guard: logins, failed ones, changes of password and address, and
   * what other features list in their `accountEvents`. Newest first, in pages that go from newer events to older ones.
   * At most 100 are kept, and 100 failed logins, for `ACCOUNTS.retention.eventDays`. Empty without the table
   * `security_events`.
   *
   * ```ts
   * const { events, before, after } = await accounts.events(request.user()!, { after: request.input("after") });
   * ```
   */
  events(user: RegisteredUser, options: EventPageOptions = {}): Promise<AccountEvents> {
    return this.#services.history.page(user, options, this.#context.t);
  }

  /**
   * Ends all access to the account of a user of the active guard, whether the user is logged in or not: logins on all
   * devices, links in mails, the API token if tokens are checked in the database, and everything that the user's
   * `endCredentials()` removes; see `CredentialHolder`. {@link block} does the same.
   *
   * Security: the user must not come from an input. For a page where users log themselves out everywhere, call
   * `auth.logins().endAll()`.
   *
   * @returns whether the account existed
   * @throws `E_INVALID_MODEL` if the user's class is not that of the guard's users, or if these can only log in
   */
  async endAccess(user: RegisteredUser): Promise<boolean> {
    const { access, users } = this.#services;
    const { auth, request } = this.#context;
    const ending = {
      what: "everything",
      reason: "application",
      proof: "none",
      address: request.clientAddress,
    } as const;
    return (await access.end(auth.guardName, users.requireOwn(auth.guardName, user), ending)) !== null;
  }

  /**
   * Blocks the account of a user of any guard, and ends all access to it, as {@link endAccess} does. Until it is unblocked,
   * no login, link or token is valid or can be made, and no link to set a password is mailed. Only someone who knows
   * the password learns that the account is blocked; to anyone else, it looks like any other.
   *
   * ```ts
   * const user = await User.findBy("email", "mallory@example.com");
   * if (user !== null) await accounts.block(user, { reason: "Reported as spam" });
   * ```
   *
   * Emits `auth.blocked`. An API token that isn't checked in the database is refused wherever its user is asked for.
   *
   * Security: the route must check that the caller is allowed to do this.
   *
   * @param details why, and by whom; default: the primary key of the request's user
   * @returns whether the account existed
   * @throws `E_INVALID_MODEL` if the table lacks `blocked_at` or `access_epoch`, or no guard has such users
   */
  async block(user: RegisteredUser, details: Partial<Pick<BlockDetails, "by" | "reason">> = {}): Promise<boolean> {
    const { guard, own } = this.#ofAnyGuard(user);
    return this.#services.blocks.block(guard, own, this.#detailsOf(details));
  }

  /**
   * Unblocks an account. Its user can log in again, or set a new password; everything that was valid before stays
   * invalid. Emits `auth.unblocked`.
   *
   * @returns and throws as {@link block}
   */
  async unblock(user: RegisteredUser, details: Partial<Pick<BlockDetails, "by" | "reason">> = {}): Promise<boolean> {
    const { guard, own } = this.#ofAnyGuard(user);
    return this.#services.blocks.unblock(guard, own, this.#detailsOf(details));
  }

  /**
   * Closes the account of a user of any guard, and ends all access to it, as {@link endAccess} does. Its owner is mailed.
   * After `ACCOUNTS.closing.graceDays`, `ashlar prune` or the server's daily pruning deletes or anonymizes the account;
   * until then, a login reopens it. If it is the request's own user, the rest of the request is a guest's.
   *
   * Emits `auth.account_closed`. To others, the account looks like any other.
   *
   * Security: make users confirm who they are first: `password.confirm`. The route must check that the caller is allowed to
   * close other users' accounts.
   *
   * @param details as {@link block}
   * @returns when the account is removed; `null` if it doesn't exist
   * @throws `E_INVALID_MODEL` if the table lacks `closes_at` or `access_epoch`, or no guard has such users; `E_STALE_PROOF`
   * if it is the request's own user, and access to the account has ended since the user was read
   */
  async close(user: RegisteredUser, details: Partial<Pick<BlockDetails, "by" | "reason">> = {}): Promise<Date | null> {
    const { guard: name, own } = this.#ofAnyGuard(user);
    const { auth } = this.#context;
    const active = auth.guard(auth.guardName);
    const isOwn = (active.knownUser as object | null) === user;
    const given = { ...this.#detailsOf(details), ...(isOwn && { language: this.#context.language }) };
    const closesAt = await this.#services.closing.close(name, own, isOwn ? "user" : "none", given);
    if (!isOwn) return closesAt;
    if (closesAt === null) throw staleProof();
    if (active instanceof LoginGuard) await active.leave();
    return closesAt;
  }

  /**
   * Reopens an account that was closed, as a login of its owner does. Everything that was valid before stays invalid. Its
   * owner is mailed. Emits `auth.account_reopened`.
   *
   * @param user as stored now
   * @returns whether it was closed, and not removed yet
   */
  async reopen(user: RegisteredUser, details: Partial<Pick<BlockDetails, "by" | "reason">> = {}): Promise<boolean> {
    const { guard, own } = this.#ofAnyGuard(user);
    return this.#services.closing.reopen(guard, own, this.#detailsOf(details));
  }

  /**
   * Deletes a user of the active guard with everything that the framework stores about the user: logins with their IP
   * addresses, links that set a password, and previous addresses. For models, it is the same as `user.delete()`.
   *
   * Security: the user must not come from an input. Make users confirm their password first: `password.confirm`.
   *
   * @returns whether the account existed
   * @throws `E_INVALID_MODEL` as {@link endAccess}
   */
  async delete(user: RegisteredUser): Promise<boolean> {
    const { deletion, users } = this.#services;
    const guard = this.#context.auth.guardName;
    return deletion.ofGuard(guard, users.requireOwn(guard, user));
  }

  /** An administrator's guard often has different users from the ones it manages. */
  #ofAnyGuard(user: RegisteredUser): { readonly guard: string; readonly own: AccountUser } {
    const { users } = this.#services;
    const guard = users.guardOf(asAccountUser(user), this.#context);
    return { guard, own: users.requireOwn(guard, user) };
  }

  #detailsOf({ reason = null, by = null }: Partial<Pick<BlockDetails, "by" | "reason">>): BlockDetails {
    const { currentUser, request } = this.#context;
    return { by: by ?? userKey(currentUser), reason, address: request.clientAddress };
  }
}
