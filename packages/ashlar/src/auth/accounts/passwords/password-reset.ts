import type { HttpContext } from "../../../http/index.ts";
import { currentDate, ValidationError } from "../../../support/index.ts";
import { accessEpochOf } from "../../access/access-epoch.ts";
import { announce } from "../../events.ts";
import { clearGuesses, countGuess } from "../../guards/guesses.ts";
import { ACCOUNT_LIMIT } from "../../limits.ts";
import { message } from "../../messages.ts";
import { hasPassword } from "../../passwords/verify-credentials.ts";
import { confirmationRequired } from "../../proofs/confirmation.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { awaitsVerification, isBlocked } from "../../users/authenticatable.ts";
import type { AccountAccess } from "../access/account-access.ts";
import type { FirstProof } from "../access/first-proof.ts";
import type { AccountClaim, AccountLinks } from "../links/account-links.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountPromises, PromiseWork } from "../links/account-promises.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import { hashChosenPassword, requireEmail } from "../users/account-input.ts";
import { requireUser } from "../users/current-user.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { PasswordResetTable } from "./password-reset-table.ts";
import type { ResetEpoch, ResetEpochs } from "./reset-epochs.ts";
import type { ResetTokens } from "./reset-tokens.ts";

/** A link that can still set a new password. */
export interface UsablePasswordReset {
  /** The address of the account. */
  readonly email: string;
}

/** The dependencies of {@link PasswordReset}. */
export interface PasswordResetDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly links: AccountLinks;
  readonly mails: AccountMails;
  readonly resets: PasswordResetTable;
  readonly tokens: ResetTokens;
  readonly access: AccountAccess;
  readonly promises: AccountPromises;
  readonly epochs: ResetEpochs;
  readonly firstProof: FirstProof;
  /** How long a reset can be used, in minutes; `null` if it never expires. */
  readonly expiresInMinutes: number | null;
  /** `ACCOUNTS.firstPasswordByMail` */
  readonly firstPasswordByMail: boolean;
}

/** The stored data of a request for a link. */
interface ResetRequest {
  readonly email: string;
  readonly language: string;
}

/** Sets a new password for a user who has forgotten the old one, with a link in a mail. */
export class PasswordReset {
  readonly #dependencies: PasswordResetDependencies;
  readonly #promiseLink: PromiseWork<ResetRequest, never>;

  constructor(dependencies: PasswordResetDependencies) {
    this.#dependencies = dependencies;
    this.#promiseLink = dependencies.promises.declare("password_reset", "a password reset", (context, request) =>
      this.#mailLink(context, request),
    );
  }

  /** Mails a link that sets a new password, if there is an account; see `Accounts.requestPasswordReset`. */
  async request(context: HttpContext, input: unknown): Promise<void> {
    const { users, pages, mails } = this.#dependencies;
    const email = requireEmail(input);
    const guard = context.auth.guardName;
    users.of(guard);
    await mails.prepare();
    // A missing route is reported to the developer in the response, not only in the log.
    pages.url(guard, "password_reset", {});
    // Done after the response, so that its timing doesn't depend on whether the address has an account.
    await this.#promiseLink(context, { email, language: context.language });
  }

  async #mailLink(context: HttpContext, { email, language }: ResetRequest): Promise<void> {
    const { users, pages, mails, tokens, expiresInMinutes } = this.#dependencies;
    const guard = context.auth.guardName;
    const found = await users.of(guard).findByEmail(email);
    const user = found !== null && this.sets(found) ? found : null;
    // As far as possible, an address without an account takes the same work, because that work delays concurrent
    // requests.
    const token = await (user === null ? tokens.issueToNoOne(guard, email) : tokens.issue(guard, user));
    const url = pages.url(guard, "password_reset", {}, { token });
    announce(context, "auth.password_reset_requested", guard, { user, email });
    if (user === null) return;
    await mails.prepare();
    // Never sent to the address from the form, because the link belongs to the account, whatever the store considers
    // equal.
    const to = user.email!;
    await mails.tryQueue("resetPassword", to, { guard, language, user, email: to, url, expiresInMinutes });
  }

  /**
   * Mails a new link to the owner of an account, for an operator. Links that were mailed before stop working.
   *
   * @throws what queueing the mail throws
   */
  async mailTo(context: HttpContext, user: AccountUser): Promise<void> {
    const { users, pages, mails, tokens, expiresInMinutes } = this.#dependencies;
    const guard = users.guardOf(user, context);
    await mails.prepare();
    const url = pages.url(guard, "password_reset", {}, { token: await tokens.issue(guard, user) });
    const email = user.email!;
    await mails.queue("resetPassword", email, { guard, user, email, url, expiresInMinutes });
    announce(context, "auth.password_reset_requested", guard, { user, email });
  }

  /**
   * Reports whether a link can set an account's password: never while it is blocked, and a first password only if the
   * settings allow it.
   */
  sets(user: AccountUser): boolean {
    if (isBlocked(user)) return false;
    return this.#dependencies.firstPasswordByMail || !neverHadPassword(user);
  }

  /** How the current user gets a first password; see `Accounts.firstPassword`. */
  async firstPassword(context: HttpContext): Promise<"proof" | "mail" | "none" | null> {
    const { auth } = context;
    const user = await requireUser(context);
    if (hasPassword(user)) return null;
    if ((await confirmationRequired(context, user)).methods.length > 0) return "proof";
    // If the column isn't nullable, an account without an address has an empty text there.
    const hasAddress = (user.email ?? "").trim() !== "";
    return hasAddress && this.sets(user) && auth.hasRoute("change_password.store") ? "mail" : "none";
  }

  /** Finds out whether the token of a link is still valid; see `Accounts.findPasswordReset`. */
  async find(context: HttpContext, token: unknown): Promise<UsablePasswordReset | null> {
    const found = await this.#find(context, token);
    return found === null ? null : { email: found.user.email! };
  }

  /** Sets a new password with the token of a link; see `Accounts.resetPassword`. */
  async complete(
    context: HttpContext,
    token: unknown,
    password: unknown,
    confirmation: unknown,
  ): Promise<AccountUser | null> {
    const { users, mails, resets, access, epochs, firstProof } = this.#dependencies;
    if (token === null || token === undefined) return null;
    if (typeof token !== "string") throw new ValidationError({ token: [message("auth.input.text")] });
    const found = await this.#find(context, token);
    const sent = epochs.of(context, token, password);
    if (found === null) return this.#setBefore(context, token, sent);
    const { user: owner } = found;
    const { guard } = found.claim;
    await mails.prepare();
    // Comes before the transaction, because hashing is slow and a refused password must not use up the link.
    const hash = (plain: unknown) => users.hashPasswordOf(guard, owner, plain);
    const passwordHash = await hashChosenPassword(hash, password, confirmation);
    const changes = { passwordHash, ...(sent !== null && { accessEpoch: sent.epoch }) };
    const email = owner.email!;
    // Opening the link has proved the address.
    const isProof = awaitsVerification(owner);
    let isVerified = false;
    const user = await access.end(guard, owner, {
      what: "everything",
      reason: "password_reset",
      // The user was read before the hash was computed: if access has ended in between, the link is no longer valid.
      proof: "user",
      address: context.request.clientAddress,
      write: async (update) => {
        if (!(await resets.consume(token))) return null;
        const verifiedAt = currentDate();
        const verified = isProof ? await update({ ...changes, verifiedAt }, { email, verifiedAt: null }) : null;
        isVerified = verified !== null;
        // A verification link may have been followed since: then it has verified the address.
        return verified ?? update(changes, { email });
      },
      also: async (changed) => {
        const [{ language }, changedAt] = [context, currentDate()];
        const notice = { guard, language, user: changed, email, changedAt, wasReset: true };
        await mails.tryQueue("passwordChanged", email, notice);
        // Someone else may have registered the account.
        if (isVerified) await firstProof.removeEarlier(changed, { guard, language, email, provedAt: changedAt });
      },
    });
    if (user === null) return this.#setBefore(context, token, sent);
    // A user who can read the account's mail isn't guessing, and earlier guesses were about another password.
    await clearGuesses(context, guard, user);
    // Other clients' guesses must not keep them from logging in with the new password, either.
    context.auth.registry.guesses.allowDevice(context, guard, user, null);
    announce(context, "auth.password_reset", guard, { user });
    if (isVerified) announce(context, "auth.email_verified", guard, { user });
    return user;
  }

  /**
   * The user whose password this visitor has already set to the same value with the same link, in case of a double
   * click or a lost response. Nothing is stored or mailed again.
   *
   * Security: the beginning of the account's epoch proves that this visitor has used the link. The rest depends on the
   * password, so it counts as a guess: otherwise, someone with a copy of the session and a used link could try
   * passwords.
   *
   * @throws `E_TOO_MANY_REQUESTS` if the account allows no more guesses
   */
  async #setBefore(context: HttpContext, token: string, sent: ResetEpoch | null): Promise<AccountUser | null> {
    const claim = sent === null ? null : this.#claimOf(context, token);
    if (sent === null || claim === null) return null;
    const { guard, id } = claim;
    const user = (await this.#dependencies.users.named(guard)?.findByAuthId(id)) ?? null;
    if (user === null || !accessEpochOf(user).startsWith(sent.beginning)) return null;
    await countGuess(context, { guard, user, identifier: null });
    if (accessEpochOf(user) !== sent.epoch) {
      announce(context, "auth.failed", guard, { user, identifier: null, by: null });
      return null;
    }
    await context.auth.throttle?.giveBack(context, ACCOUNT_LIMIT);
    context.auth.registry.guesses.allowDevice(context, guard, user, null);
    return user;
  }

  /**
   * The user to whom a token was mailed, provided that the token can still be used here, and hasn't been invalidated
   * since.
   */
  async #find(
    context: HttpContext,
    token: unknown,
  ): Promise<{ readonly claim: AccountClaim; readonly user: AccountUser } | null> {
    // A token that wasn't created here requires no query.
    const claim = this.#claimOf(context, token);
    if (claim === null) return null;
    const user = await this.#dependencies.tokens.ownerOf(token as string, claim);
    return user === null || !this.sets(user) ? null : { claim, user };
  }

  /** A link that was created for another guard's page is not valid here. */
  #claimOf(context: HttpContext, token: unknown): AccountClaim | null {
    const { links, pages } = this.#dependencies;
    const claim = typeof token === "string" ? links.readReset(token) : null;
    return claim !== null && pages.isShared("password_reset", claim.guard, context.auth.guardName) ? claim : null;
  }
}

/**
 * Reports whether an account never had a password. A revoked password can be set again by a link, whatever the
 * settings.
 */
function neverHadPassword(user: AccountUser): boolean {
  const hash = user.passwordHash();
  return hash === null || hash === "";
}
