import type { Application } from "../../boot/index.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import { blockedAtOf, closesAtOf, isBlocked, isClosed, isVerifiable } from "../users/authenticatable.ts";
import type { DataSubject } from "../users/user-data.ts";
import { shown } from "./desk-arguments.ts";
import { type FoundAccount, labelOf } from "./find-accounts.ts";

/** A command's output about an account. */
export interface AccountSummary {
  readonly guard: string;
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  /** `null` if users of this class don't verify addresses. */
  readonly isVerified: boolean | null;
  readonly hasPassword: boolean;
  readonly isBlocked: boolean;
  readonly blockedAt: Date | null;
  readonly isClosed: boolean;
  /** When the account is removed, because it was closed; `null` if it wasn't, or no login can reopen it. */
  readonly closesAt: Date | null;
  readonly createdAt: Date | null;
}

export function summaryOf({ guard, user }: FoundAccount): AccountSummary {
  const row = user as unknown as Readonly<Record<string, unknown>>;
  return {
    guard,
    id: String(user.authId()),
    name: textOf(row.name),
    email: textOf(user.email),
    isVerified: isVerifiable(user) ? user.hasVerifiedEmail() : null,
    hasPassword: hasPassword(user),
    isBlocked: isBlocked(user),
    blockedAt: blockedAtOf(user),
    isClosed: isClosed(user),
    closesAt: closesAtOf(user),
    createdAt: row.created_at instanceof Date ? row.created_at : null,
  };
}

/** One line about an account. */
export function summaryLine({ guard, user }: FoundAccount): string {
  const { id, name, isBlocked: blocked, isClosed: closed, isVerified, closesAt } = summaryOf({ guard, user });
  const label = labelOf(user);
  const states = [
    ...(name !== null && shown(name) !== label ? [shown(name)] : []),
    ...(isVerified === false ? ["not verified"] : []),
    ...(blocked ? ["blocked"] : []),
    ...(closed ? ["closed"] : []),
    ...(closesAt === null ? [] : [`closed, removed on ${closesAt.toISOString()}`]),
  ];
  return [`${id}  ${label}`, ...states].join(", ");
}

/** The user's data that exports and deletions need. */
export function subjectOf({ container }: Application, { user }: FoundAccount): DataSubject {
  const { users } = container.make("accounts");
  const { email } = user;
  const guards = users.guardsKeeping(user.constructor);
  return { user, id: user.authId(), guards, email: typeof email === "string" && email !== "" ? email : null };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
