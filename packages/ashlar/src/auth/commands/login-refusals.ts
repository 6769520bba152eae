import type { Application } from "../../boot/index.ts";
import { stepKeysOf } from "../accounts/users/counted-accounts.ts";
import { ACCOUNT_LIMIT, PASSWORD_LIMIT, STEP_LIMIT, STEP_TOTAL_LIMIT } from "../limits.ts";
import { identifiersOf } from "../passwords/verify-credentials.ts";
import { awaitsVerification, isBlocked, isClosed } from "../users/authenticatable.ts";
import type { FoundAccount } from "./find-accounts.ts";

/** A reason why a login, one of its steps, or the pages for verified addresses refuse a user now. */
export interface LoginRefusal {
  readonly reason: "blocked" | "closed" | "no_password" | "not_verified" | "guesses" | "address" | "steps";
  /** How many more seconds the refusal lasts; `null` if it doesn't end by itself. */
  readonly seconds: number | null;
  /** The command that ends it; `null` if none does. */
  readonly remedy: string | null;
}

/**
 * Returns everything that refuses a user now.
 *
 * @param address the client's address, for limits that count by address; `null` leaves these limits out
 */
export async function loginRefusals(
  application: Application,
  account: FoundAccount,
  address: string | null,
): Promise<readonly LoginRefusal[]> {
  const { user } = account;
  const id = String(user.authId());
  const isUnverified = awaitsVerification(user);
  const proofs = await application.container.make("proofs").ownedBy(user);
  const canBegin = proofs.some(({ startsLogins }) => startsLogins);
  const states: readonly (LoginRefusal | false)[] = [
    isBlocked(user) && { reason: "blocked", seconds: null, remedy: `users:unblock ${id}` },
    isClosed(user) && { reason: "closed", seconds: null, remedy: null },
    !canBegin && { reason: "no_password", seconds: null, remedy: `mail:resend ${id}` },
    isUnverified && { reason: "not_verified", seconds: null, remedy: `mail:resend ${id} --mail verifyEmail` },
  ];
  return [...states.filter((state) => state !== false), ...(await usedUpLimits(application, account, address))];
}

/** The login limits that the account or the address has used up. */
async function usedUpLimits(
  { container }: Application,
  { guard, user }: FoundAccount,
  address: string | null,
): Promise<readonly LoginRefusal[]> {
  if (!container.has("throttle")) return [];
  const [guards, throttle] = [container.make("auth"), container.make("throttle")];
  const id = String(user.authId());
  const accounts = identifiersOf(user, guards.modelOf(guard)!).map((account) => ({
    realm: guards.realmOf(guard),
    account,
  }));
  const steps = stepKeysOf(guards, guard, user);
  const from = address === null ? [] : accounts.map((keys) => ({ ...keys, address }));
  const looks = [
    { reason: "guesses", limits: [ACCOUNT_LIMIT], keys: accounts, remedy: `limits:clear ${id}` },
    { reason: "address", limits: [PASSWORD_LIMIT], keys: from, remedy: `limits:clear ${id} --address ${address}` },
    { reason: "steps", limits: [STEP_LIMIT, STEP_TOTAL_LIMIT], keys: steps, remedy: `limits:clear ${id}` },
  ] as const;
  const found: LoginRefusal[] = [];
  for (const { reason, limits, keys: all, remedy } of looks) {
    let seconds: number | null = null;
    for (const keys of all) {
      for (const limit of limits) {
        const { allowed, resetInSeconds } = await throttle.peek(limit, keys);
        if (!allowed) seconds = Math.max(seconds ?? 0, resetInSeconds);
      }
    }
    if (seconds !== null) found.push({ reason, seconds, remedy });
  }
  return found;
}
