import type { HttpContext } from "../../../http/index.ts";
import { AshlarError, type MaybePromise, type RegisteredUser, ValidationError } from "../../../support/index.ts";
import type { Guard } from "../../guards/guard.ts";
import { LoginGuard } from "../../guards/login-guard.ts";
import { provesOwnPassword } from "../../guards/own-password.ts";
import { message } from "../../messages.ts";
import { hasPassword } from "../../passwords/verify-credentials.ts";
import { CompleteLogin } from "../../pipeline/complete-login.ts";
import { proveStep } from "../../pipeline/prove-step.ts";
import type { GivenProof } from "../../proofs/login-methods.ts";
import { PASSWORD } from "../../proofs/proof.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { WebGuard } from "../../web/web-guard.ts";
import { asAccountUser } from "./account-user.ts";
import "../../../http/index.ts";

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
 * Requires the logged-in user to prove their identity again. If the browser keeps the login, it gets a new token. A
 * user who has no password must have given another proof in the last ten minutes.
 *
 * @param field the name of the input, for the message
 * @param isChanged whether the password is changed next: the login then gets its token with that change, by
 * `WebGuard.keepAlone`
 * @throws `E_INVALID_INPUT` if it is not the user's password, or a login step refuses the user; `E_LOGIN_PENDING` if a
 * step has to be passed first; `E_PASSWORD_NOT_CONFIRMED` if a user without a password has to give another proof first
 */
export async function requirePassword(
  context: HttpContext,
  password: unknown,
  field: string,
  isChanged = false,
): Promise<void> {
  if (password !== null && password !== undefined && typeof password !== "string") {
    throw new ValidationError({ [field]: [message("auth.input.text")] });
  }
  if (await provesPassword(context, password, isChanged)) return;
  const { auth } = context;
  auth.requireNoPendingStep();
  throw new ValidationError({ [field]: [auth.refusal ?? message("auth.password.wrong")] });
}

async function provesPassword(context: HttpContext, password: unknown, isChanged: boolean): Promise<boolean> {
  const { auth } = context;
  const guard = auth.guard(auth.guardName);
  if (guard instanceof WebGuard && !hasPassword(await requireUser(context))) return guard.provesAgain(password);
  if (guard instanceof WebGuard) return isChanged ? guard.confirmForChange(password) : guard.confirmPassword(password);
  auth.beginConfirmation(guard.name);
  const user = (await requireUser(context)) as unknown as RegisteredUser;
  if (!(await provesOwnPassword(context, guard.name, user as unknown as AccountUser, password))) return false;
  const proof = auth.registry.proofs.given(PASSWORD);
  return guard instanceof LoginGuard ? guard.admitConfirmed(user, { proof }) : passesSteps(context, guard, user, proof);
}

/** Runs the login steps for a guard that logs no one in, and therefore cannot wait for a step's page. */
async function passesSteps(
  context: HttpContext,
  { name: guard }: Guard,
  user: RegisteredUser,
  proof: GivenProof,
): Promise<boolean> {
  const { auth } = context;
  const prove = (step: string, verify: () => MaybePromise<boolean>) => proveStep(context, guard, user, step, verify);
  const confirmation = { context, guard, user, purpose: "confirmation", proof } as const;
  const judged = await CompleteLogin.judge(auth.registry.stepsOf(guard), confirmation, prove);
  if (judged instanceof CompleteLogin) return true;
  auth.concluded(guard, judged.outcome);
  return false;
}

/** The active guard, if this request's login can continue when all others end. */
export function keeperOf({ auth }: HttpContext): WebGuard | null {
  const guard = auth.guard(auth.guardName);
  return guard instanceof WebGuard ? guard : null;
}

/**
 * Makes the rest of a request use the changed user, since a store may have created a new object, and sends the token that the
 * request's login continues with, if its guard keeps logins.
 */
export function takeOver(context: HttpContext, user: AccountUser): void {
  const { auth } = context;
  const guard = auth.guard(auth.guardName);
  if ((guard.knownUser as object | null) !== user) guard.once(user);
  keeperOf(context)?.sendNextToken();
}
