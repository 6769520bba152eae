import type { HttpContext } from "../../http/index.ts";
import { AshlarError, ValidationError } from "../../support/index.ts";
import type { AccountUser } from "../account-store.ts";
import { message } from "../messages.ts";
import { provesOwnPassword } from "../own-password.ts";
import { PROOF_FAILED } from "../pipeline/login-step.ts";
import { WebGuard } from "../web/web-guard.ts";
import { asAccountUser } from "./account-user.ts";
import "../../http/index.ts";

/**
 * The user who is logged in.
 *
 * @throws `E_UNAUTHENTICATED` if no user is
 */
export async function requireUser({ auth }: HttpContext): Promise<AccountUser> {
  const user = await auth.user();
  if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
  return asAccountUser(user);
}

/**
 * Asks the user who is logged in to prove again who they are. If the browser keeps the login, it gets a new token.
 *
 * @param field the name of the input, for the message
 * @throws `E_INVALID_INPUT` if it is not the user's password, or a login step refuses the user; `E_LOGIN_PENDING` if a
 * step has to be passed first
 */
export async function requirePassword(context: HttpContext, password: unknown, field: string): Promise<void> {
  if (password !== null && password !== undefined && typeof password !== "string") {
    throw new ValidationError({ [field]: [message("auth.input.text")] });
  }
  if (await provesPassword(context, password)) return;
  const { auth } = context;
  auth.requireNoPendingStep();
  throw new ValidationError({ [field]: [auth.refusal ?? message("auth.password.wrong")] });
}

async function provesPassword(context: HttpContext, password: unknown): Promise<boolean> {
  const { auth } = context;
  const guard = auth.guard(auth.guardName);
  if (guard instanceof WebGuard) return guard.confirmPassword(password);
  if (await provesOwnPassword(context, auth.guardName, await requireUser(context), password)) return true;
  auth.concluded(auth.guardName, PROOF_FAILED);
  return false;
}

/** Makes the rest of a request use the changed user: a store may have created a new object. */
export function takeOver({ auth }: HttpContext, user: AccountUser): void {
  const guard = auth.guard(auth.guardName);
  if ((guard.knownUser as object | null) !== user) guard.once(user);
}
