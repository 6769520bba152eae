import type { Application } from "../../boot/index.ts";
import type { Outbox, OutboxOwner } from "../../mail/index.ts";
import { isWorkAbout } from "../accounts/links/account-promises.ts";
import type { DataSubject } from "../users/user-data.ts";

/** The application's outbox; `null` if mails wait in memory, or there aren't any. */
export async function outboxOf({ container }: Application): Promise<Outbox | null> {
  return container.has("mail") ? await container.make("mail").outbox() : null;
}

/**
 * A user's mails in the outbox: mails to their address, or to a former one that is still reserved for them, in any
 * spelling, and mails about their account, wherever they go, such as a link to a new address.
 */
export async function outboxOwnerOf({ container }: Application, subject: DataSubject): Promise<OutboxOwner> {
  const { guards, email, id } = subject;
  const { emailChanges } = container.make("accounts");
  const reserved = await emailChanges.reservedFor(guards, id);
  return {
    addresses: email === null ? reserved : [email, ...reserved],
    isSubject: (account) => account.id === String(id) && guards.includes(account.guard),
    isNamedIn: (work) => isWorkAbout(work, guards, String(id)),
  };
}

/** A user's mails that wait in the outbox, or were abandoned; without their texts, which may contain valid links. */
export async function waitingMails(application: Application, subject: DataSubject): Promise<readonly object[]> {
  const outbox = await outboxOf(application);
  if (outbox === null) return [];
  const rows = await outbox.search.about(await outboxOwnerOf(application, subject));
  return rows.map(({ id, mailable, subject: title, isShared, createdAt, failedAt }) => ({
    id,
    mailable,
    subject: title,
    has_other_recipients: isShared,
    created_at: createdAt,
    failed_at: failedAt,
  }));
}
