import type { Application } from "../../boot/index.ts";
import { identifiersOf } from "../counted-accounts.ts";
import { ACCOUNT_LIMIT } from "../limits.ts";
import type { FoundAccount } from "./find-accounts.ts";

/** For how many seconds unknown devices can't guess at an account's password at the usual rate; `null` if they can. */
export async function refusalOf({ container }: Application, { guard, user }: FoundAccount): Promise<number | null> {
  if (!container.has("throttle")) return null;
  const [guards, throttle] = [container.make("auth"), container.make("throttle")];
  const [realm, model] = [guards.realmOf(guard), guards.modelOf(guard)!];
  let longest: number | null = null;
  for (const account of identifiersOf(user, model)) {
    const { allowed, resetInSeconds } = await throttle.peek(ACCOUNT_LIMIT, { realm, account });
    if (!allowed) longest = Math.max(longest ?? 0, resetInSeconds);
  }
  return longest;
}
