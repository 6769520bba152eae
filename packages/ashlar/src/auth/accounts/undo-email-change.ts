import { UniqueViolationError } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { currentDate, type RegisteredUser } from "../../support/index.ts";
import { announce } from "../events.ts";
import { NO_PASSWORD } from "../stored-hash.ts";
import { writeColumns } from "../write-column.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountUser, isVerifiable } from "./account-user.ts";
import type { EmailChange } from "./email-changes.ts";
import { endAccess } from "./end-access.ts";
import { ReservedAddress, refuseReserved } from "./reserved-addresses.ts";
import { resetTokenFor } from "./reset-password.ts";

/** A change of address that a link can undo. */
export interface UndoableEmailChange {
  /** The address that would be the account's again. */
  readonly email: string;
}

/** What came of undoing a change of address. */
export type EmailChangeUndo =
  | {
      readonly outcome: "undone";
      readonly user: RegisteredUser;
      /** What `/password_reset?token=…` takes: the account has no password until a new one is set. */
      readonly resetToken: string;
    }
  | { readonly outcome: "taken" | "invalid" };

/** The change that the token of a link can undo; see `Accounts.findEmailChange`. */
export async function findEmailChange(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): Promise<UndoableEmailChange | null> {
  const found = await find(service, context, token);
  return found === null ? null : { email: found.change.email };
}

/** Undoes a change of address; see `Accounts.undoEmailChange`. */
export async function undoEmailChange(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): Promise<EmailChangeUndo> {
  const found = await find(service, context, token);
  if (found === null) return { outcome: "invalid" };
  const { change, user } = found;
  const { email: previousEmail } = user;
  await service.mails.prepare();
  const outcome = await restore(service, change, user);
  if (outcome !== "undone") return { outcome };
  const { email: restoredEmail } = change;
  // If it was not the owner who has undone the change, this is the only word the owner gets.
  const notice = { guard: change.guard, language: context.language, user, email: previousEmail, restoredEmail };
  service.mails.tryQueue("emailChangeUndone", previousEmail, notice);
  const resetToken = await resetTokenFor(service, change.guard, user);
  announce(context, "auth.email_change_undone", change.guard, { user, previousEmail, email: restoredEmail });
  return { outcome, user, resetToken };
}

interface Found {
  readonly change: EmailChange;
  readonly user: AccountUser;
}

async function find(service: AccountService, context: HttpContext, token: unknown): Promise<Found | null> {
  const claim = service.links.readUndo(token);
  // A link that was made for another guard's page is not one here.
  if (claim === null || !service.pages.isShared("email.undo", claim.guard, context.auth.guardName)) return null;
  const change = await service.emailChanges.find(token as string);
  if (change === null || change.guard !== claim.guard || change.userId !== claim.id) return null;
  const user = (await service.modelNamed(claim.guard)?.findByAuthId(claim.id)) ?? null;
  if (user === null) return null;
  const { created_at } = user as { readonly created_at?: unknown };
  // The key may have been given to another account since.
  return created_at instanceof Date && created_at > change.createdAt ? null : { change, user };
}

/** Thrown to roll back what a parallel use of the same link has done already. */
class UsedMeanwhile extends Error {}

async function restore(
  service: AccountService,
  change: EmailChange,
  user: AccountUser,
): Promise<"undone" | "taken" | "invalid"> {
  const { passwordColumn } = service.modelOf(change.guard);
  try {
    return await service.database.transaction(async () => {
      // No condition: what the thief has changed since must not keep the owner out. The row is locked by it, so that a
      // change of address that is under way is found below, or fails on the new epoch.
      const changes = {
        ...user.accessChanges(),
        email: change.email,
        // The thief knows the password, and would be back before the owner has set a new one.
        [passwordColumn]: NO_PASSWORD,
        ...(isVerifiable(user) ? { verified_at: currentDate() } : {}),
      };
      if (!(await writeColumns(user, changes))) return "invalid";
      if (!(await service.emailChanges.consume(change))) throw new UsedMeanwhile();
      // Meanwhile another account may have had the address, verified it, and left it.
      if (!change.isReserved) await refuseReserved(service, change.guard, change.email, user);
      await endAccess(service, user);
      return "undone";
    });
  } catch (error) {
    if (error instanceof UsedMeanwhile) return "invalid";
    if (error instanceof UniqueViolationError || error instanceof ReservedAddress) return "taken";
    throw error;
  }
}
