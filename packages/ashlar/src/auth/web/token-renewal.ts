import { digest } from "../../security/index.ts";
import { currentDate } from "../../support/index.ts";
import { proofOf } from "../access/access-epoch.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import type { Confirmed, CurrentLogin } from "./request-login.ts";
import type { WebGuardDependencies } from "./web-guard-settings.ts";

/** How often a confirmation tries to replace the login's token while other requests may also be replacing it. */
const MAX_ROUNDS = 4;

/** A login of a guard, and the user it was confirmed for, as read when the proof was given. */
export interface RenewableLogin {
  readonly guard: string;
  readonly model: AuthenticatableClass;
  readonly login: CurrentLogin;
  readonly user: Authenticatable;
}

/** A login's stored token, with the proofs that its user has given. */
export interface RenewedToken {
  readonly token: string;
  readonly confirmed: Confirmed;
}

/** Replaces a login's token in the store, and records when its user gave a proof; see `LoginStore.renew`. */
export function storeToken(
  { store }: Pick<WebGuardDependencies, "store">,
  { guard, model, login, user }: RenewableLogin,
  from: string,
  token: string,
  { authenticatedAt, methods }: Confirmed,
): Promise<boolean> {
  const renewed = { guard, userId: login.userId, id: login.id, tokenHash: digest(from) };
  return store.renew(renewed, { tokenHash: digest(token), authenticatedAt, methods }, proofOf(model, user));
}

/**
 * Gives a login a new token after a confirmation, so that a token stolen earlier doesn't benefit from it. That includes
 * a token that was returned again for its predecessor, because a thief who has the predecessor may have it, too.
 *
 * @param from the token that the login has
 * @returns `null` if the login has ended, or access to the account has
 */
export async function renewToken(
  dependencies: Pick<WebGuardDependencies, "store" | "successors">,
  renewable: RenewableLogin,
  from: string,
  methods: Confirmed["methods"],
): Promise<RenewedToken | null> {
  const { successors, store } = dependencies;
  const { guard } = renewable;
  let former = from;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const [token, confirmed] = [successors.of(former), { authenticatedAt: currentDate(), methods }];
    if (await storeToken(dependencies, renewable, former, token, confirmed)) return { token, confirmed };
    // Of several concurrent confirmations, one replaces the token. The others use the new token, unless its proof was
    // removed.
    const replaced = await successors.find(store, guard, former);
    const found = replaced === null ? null : await store.find(guard, digest(replaced));
    if (found === null) return null;
    if (found.authenticatedAt !== null) return { token: replaced!, confirmed: found };
    former = replaced!;
  }
  return null;
}
