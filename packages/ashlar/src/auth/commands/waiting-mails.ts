import type { Application } from "../../boot/index.ts";

/** The mails to an address that wait in the outbox, or were given up; without their texts, which may have links that work. */
export async function waitingMails({ container }: Application, email: string | null): Promise<readonly object[]> {
  if (email === null || !container.has("mail")) return [];
  const outbox = await container.make("mail").outbox();
  const rows = (await outbox?.search.about(new Set([email]))) ?? [];
  return rows.map(({ id, mailable, subject, createdAt, failedAt }) => ({
    id,
    mailable,
    subject,
    created_at: createdAt,
    failed_at: failedAt,
  }));
}
