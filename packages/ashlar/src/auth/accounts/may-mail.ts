import type { Container } from "../../kernel/index.ts";
import { accountDigest, type LimitName } from "../../throttle/index.ts";

/**
 * Counts a mail that strangers can have sent, by its mailbox, which several models may have accounts of.
 *
 * @param limit the name of the limit
 * @returns whether it may be sent
 */
export async function mayMail(container: Container, limit: LimitName, guard: string, email: string): Promise<boolean> {
  if (!container.has("throttle")) return true;
  const { allowed, buckets } = await container.make("throttle").consume(limit, { account: email });
  if (buckets.some(({ isFirstRefusal }) => isFirstRefusal)) {
    const dropped = { guard, limit, account: accountDigest(email) };
    container.make("logger").warn(dropped, "Mails to an address are dropped: there were too many under this limit.");
  }
  return allowed;
}
