import type { HttpContext } from "../../http/index.ts";
import { endAllSessions } from "../web/session-table.ts";
import type { AccountService } from "./account-service.ts";
import type { AccountUser } from "./account-user.ts";

/** What the mixin `AuthenticatesTokens` adds to a user, and stands above this. */
interface TokenHolder {
  tokenDigest(): string | null;
  storeTokenDigest(digest: string | null): Promise<void>;
}

/**
 * Ends what a user, or someone else, is logged in by, once access was ended on the user's row: deletes the sessions on
 * all devices, and the API token if the row still has one. As part of the transaction that is under way.
 *
 * @param keepFor the request whose own session goes on; `null` to end all of them
 */
export async function endAccess(
  service: AccountService,
  user: AccountUser,
  keepFor: HttpContext | null = null,
): Promise<void> {
  for (const guard of service.sessionGuardsOf(user)) {
    if (guard === keepFor?.auth.guardName) await keepFor.auth.sessions().keepCurrent();
    else await endAllSessions(service.database, guard, user.authId());
  }
  if (bearsTokens(user) && user.tokenDigest() !== null) await user.storeTokenDigest(null);
}

function bearsTokens(user: object): user is TokenHolder {
  return typeof (user as Partial<TokenHolder>).storeTokenDigest === "function";
}
