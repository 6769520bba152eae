import type { HttpContext } from "../../http/index.ts";
import { endCredentials } from "../access-epoch.ts";
import type { AccountService } from "./account-service.ts";
import type { AccountUser } from "./account-user.ts";

/**
 * Ends what a user, or someone else, is logged in by, once access was ended on the user's row: deletes the logins on
 * all devices, and the credentials that features have given the user. As part of the transaction that is under way.
 *
 * @param keepFor the request whose own login goes on; `null` to end all of them
 */
export async function endAccess(
  service: AccountService,
  user: AccountUser,
  keepFor: HttpContext | null = null,
): Promise<void> {
  for (const guard of service.loginGuardsOf(user)) {
    if (guard === keepFor?.auth.guardName) await keepFor.auth.logins().keepCurrent();
    else await service.logins.of(guard).endAll({ guard, userId: user.authId() });
  }
  await endCredentials(user);
}
