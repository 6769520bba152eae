import { UniqueViolationError } from "../../../database/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import { currentDate, type RegisteredUser } from "../../../support/index.ts";
import { announce } from "../../events.ts";
import { NO_PASSWORD } from "../../passwords/verify-credentials.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { isBlocked, isVerifiable } from "../../users/authenticatable.ts";
import type { AccountAccess } from "../access/account-access.ts";
import type { AccountLinks } from "../links/account-links.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { ResetTokens } from "../passwords/reset-tokens.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { EmailChangeTable, StoredEmailChange } from "./email-change-table.ts";
import { ReservedAddress, type ReservedAddresses } from "./reserved-addresses.ts";

/** A change of address that a link can undo. */
export interface UndoableEmailChange {
  /** The address that the account would get back. */
  readonly email: string;
}

/** The result of undoing a change of address. */
export type EmailChangeUndo =
  | {
      readonly outcome: "undone";
      readonly user: RegisteredUser;
      /** The token for `/password_reset?token=…`: the account has no password until a new one is set. */
      readonly resetToken: string;
    }
  | { readonly outcome: "taken" | "invalid" };

/** The dependencies of {@link EmailUndo}. */
export interface EmailUndoDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly links: AccountLinks;
  readonly mails: AccountMails;
  readonly emailChanges: EmailChangeTable;
  readonly addresses: ReservedAddresses;
  readonly tokens: ResetTokens;
  readonly access: AccountAccess;
}

interface Found {
  readonly change: StoredEmailChange;
  readonly user: AccountUser;
}

/** Thrown to roll back because a parallel use of the same link came first. */
class UsedMeanwhile extends Error {}

/** Undoes a change of address, with the link that was mailed to the old address. */
export class EmailUndo {
  readonly #dependencies: EmailUndoDependencies;

  constructor(dependencies: EmailUndoDependencies) {
    this.#dependencies = dependencies;
  }

  /** The change that a link's token can undo; see `Accounts.findEmailChange`. */
  async find(context: HttpContext, token: unknown): Promise<UndoableEmailChange | null> {
    const found = await this.#find(context, token);
    return found === null ? null : { email: found.change.email };
  }

  /** See `Accounts.undoEmailChange`. */
  async complete(context: HttpContext, token: unknown): Promise<EmailChangeUndo> {
    const { mails, tokens } = this.#dependencies;
    const found = await this.#find(context, token);
    if (found === null) return { outcome: "invalid" };
    const { change, user: owner } = found;
    const { guard, email: restoredEmail } = change;
    const { email: previousEmail } = owner;
    await mails.prepare();
    const user = await this.#restore(context, change, owner, (restored) => {
      // If someone else has undone the change, this is the only notice that the owner gets.
      const notice = { guard, language: context.language, user: restored, email: previousEmail, restoredEmail };
      return previousEmail === null
        ? Promise.resolve()
        : mails.tryQueue("emailChangeUndone", previousEmail, { ...notice, email: previousEmail });
    });
    if (user === "taken" || user === "invalid") return { outcome: user };
    const resetToken = await tokens.issue(guard, user);
    announce(context, "auth.email_change_undone", guard, { user, previousEmail, email: restoredEmail });
    return { outcome: "undone", user: user as RegisteredUser, resetToken };
  }

  async #find(context: HttpContext, token: unknown): Promise<Found | null> {
    const { users, pages, links, emailChanges } = this.#dependencies;
    const claim = links.readUndo(token);
    // A link that was created for another guard's page is not valid here.
    if (claim === null || !pages.isShared("email.undo", claim.guard, context.auth.guardName)) return null;
    const change = await emailChanges.find(token as string);
    if (change === null || change.guard !== claim.guard || change.userId !== claim.id) return null;
    const user = (await users.named(claim.guard)?.findByAuthId(claim.id)) ?? null;
    if (user === null || isBlocked(user)) return null;
    const { created_at } = user;
    // The key may belong to another account by now.
    return created_at instanceof Date && created_at > change.createdAt ? null : { change, user };
  }

  /** @param tell notifies the owner of the removed address in the same transaction */
  async #restore(
    { request }: HttpContext,
    change: StoredEmailChange,
    owner: AccountUser,
    tell: (user: AccountUser) => Promise<void>,
  ): Promise<AccountUser | "taken" | "invalid"> {
    const { emailChanges, addresses, access } = this.#dependencies;
    const { guard, email, isReserved } = change;
    try {
      const user = await access.end(guard, owner, {
        what: "everything",
        reason: "email_change_undone",
        // Later changes by a thief must not lock the owner out. The update locks the row, so a change of address in progress is
        // either found below, or fails on the new epoch.
        proof: "none",
        address: request.clientAddress,
        changes: {
          email,
          // The thief knows the password, and could log in again before the owner sets a new one.
          passwordHash: NO_PASSWORD,
          ...(isVerifiable(owner) ? { verifiedAt: currentDate() } : {}),
        },
        write: async (update) => {
          const changed = await update();
          if (changed === null) return null;
          if (!(await emailChanges.consume(change))) throw new UsedMeanwhile();
          // In the meantime, another account may have had the address, verified it, and left it.
          if (!isReserved) await addresses.refuseReserved(guard, email, changed);
          return changed;
        },
        also: tell,
      });
      return user ?? "invalid";
    } catch (error) {
      if (error instanceof UsedMeanwhile) return "invalid";
      if (error instanceof UniqueViolationError || error instanceof ReservedAddress) return "taken";
      throw error;
    }
  }
}
