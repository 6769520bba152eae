import type { HttpContext } from "../../http/index.ts";
import { AshlarError, now } from "../../support/index.ts";
import type { Authenticatable } from "../authenticatable.ts";
import { message } from "../messages.ts";
import { PASSWORD, type Proof } from "./proof.ts";
import "../errors.ts";

/** For how long a proof counts where a form would otherwise ask for the password, from a user who has none. */
const RECENT_MS = 10 * 60_000;

/** A user has to prove once more who they are before the request can be fulfilled. */
export class ConfirmationRequiredError extends AshlarError {
  /** The page to send a visitor to, as a page name for `auth.route`. */
  readonly page: string;

  /** @param proofs those that the user has, and can be asked for again */
  constructor(proofs: readonly Proof[]) {
    const methods = proofs.map(({ name }) => name);
    const sentence = methods.includes(PASSWORD) || methods.length === 0 ? undefined : message("auth.confirm.required");
    super("E_PASSWORD_NOT_CONFIRMED", sentence, { extensions: { methods } });
    this.page = proofs[0]?.page ?? "confirm_password";
  }
}

/** The proofs that a user has, and can be asked for again on a page of the active guard, or in an application without pages. */
export async function confirmableProofs({ auth }: HttpContext, user: Authenticatable): Promise<readonly Proof[]> {
  const proofs = await auth.proofs.ownedBy(user);
  return proofs.filter(({ page }) => page !== undefined && (auth.hasRoute(page) || auth.hasRoute(`${page}.store`)));
}

/**
 * Decides for a form that asks for the password, and a user who has none: any other proof in the last ten minutes counts.
 *
 * @param confirmedAt when the user last proved who they are in this login
 * @returns whether it counts; `false` if the user has nothing to prove it with
 * @throws a {@link ConfirmationRequiredError} if the user has another proof, and has to give it first
 */
export async function isConfirmedOtherwise(
  context: HttpContext,
  user: Authenticatable,
  confirmedAt: Date | null,
): Promise<boolean> {
  const age = confirmedAt === null ? Number.NaN : now() - confirmedAt.getTime();
  if (age >= 0 && age < RECENT_MS) return true;
  const proofs = await confirmableProofs(context, user);
  if (proofs.length > 0) throw new ConfirmationRequiredError(proofs);
  return false;
}
