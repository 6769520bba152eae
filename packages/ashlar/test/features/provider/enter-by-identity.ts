import { AshlarError, type HttpContext } from "ashlar";
import { asAuthenticatable, type LoginGuard, type LoginResult } from "ashlar/auth";
import type { SiteIdentity } from "./example-site.ts";
import type { Visit } from "./visits.ts";
import "./errors.ts";

const BY = "example-site";

/** Asks the other site who has come back with the request's `code`, within the limit `example-site`. */
export async function identityOf(context: HttpContext, visit: Visit | null): Promise<SiteIdentity | null> {
  const { identities, request, throttle } = context;
  await throttle.hit(context, "example-site", { account: null });
  const code = request.string("code", "");
  const identity = visit === null || code === "" ? null : await identities.site.identityOf(code, visit.nonce);
  if (identity !== null) await throttle.giveBack(context, "example-site");
  return identity;
}

/**
 * Logs the owner of an account at the other site in, with any guard. Someone who has none here gets one, if the other site has
 * verified the address.
 *
 * @throws `E_EXAMPLE_SITE` if there can be none
 */
export async function enterByIdentity(
  context: HttpContext,
  guard: LoginGuard,
  identity: SiteIdentity | null,
): Promise<LoginResult> {
  const { accounts, identities, t } = context;
  if (identity === null) return guard.fail({ by: BY });
  const owner = await identities.ownerOf(identity);
  if (owner !== null) return guard.enter(owner, { by: BY });
  // Anyone can give any address at another site.
  if (!identity.isVerified) throw new AshlarError("E_EXAMPLE_SITE", t.message("exampleSite.unverified"));
  const { email, name } = identity;
  const newcomer = await accounts.create({ email, name, provedBy: BY }, async (user) => {
    await identities.connect(asAuthenticatable(user), identity);
  });
  // An address may have had another owner when the account was made.
  if (newcomer === null) throw new AshlarError("E_EXAMPLE_SITE", t.message("exampleSite.taken"));
  return guard.enter(newcomer, { by: BY, firstLogin: true });
}
