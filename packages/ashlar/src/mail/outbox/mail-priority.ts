/**
 * Which mails go first: those about accounts, and promised work that may lead to them; then all others; and last those that
 * their author queued as bulk.
 */
export type MailPriority = "account" | "ordinary" | "bulk";

/** All priorities, in the order in which their mails are sent. A row stores the index. */
export const PRIORITIES: readonly MailPriority[] = ["account", "ordinary", "bulk"];

/** What the table stores for a priority. */
export function storedPriority(priority: MailPriority): number {
  return PRIORITIES.indexOf(priority);
}

/** The priority of a row; `ordinary` for a row of a table without the column. */
export function priorityOf(stored: unknown): MailPriority {
  return PRIORITIES[Number(stored ?? 1)] ?? "ordinary";
}
