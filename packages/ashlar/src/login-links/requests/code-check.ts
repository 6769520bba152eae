import type { AccountUser } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { type LinkClaim, type MailedAccount, type MailRequest, NO_ACCOUNT } from "../codes/login-codes.ts";
import { CODE_LIMIT } from "../limits.ts";
import { CODE_FIELD } from "../login-link-proof.ts";
import type { LoginLinkService } from "../login-link-service.ts";

/** A code in a request's input. */
export interface TypedCode {
  readonly request: Pick<MailRequest, "id" | "kind" | "guard">;
  /** The account; `null` if the address has none. */
  readonly user: AccountUser | null;
  /** The address that the mail went to, in its normal form. */
  readonly email: string;
}

/** The account of a user, as links and codes name it. */
export function mailedAccount(user: AccountUser | null): MailedAccount {
  if (user === null) return NO_ACCOUNT;
  return { id: String(user.authId()), epoch: digest(user.accessEpoch()), email: user.email ?? "" };
}

/**
 * Reports whether the input `mailed_code` is right, and takes it: of any number of requests with it, one gets it. It is counted like
 * a password, within the same budget of the account, and an address without an account takes the same work.
 *
 * @throws `E_TOO_MANY_REQUESTS`
 */
export async function acceptCode(
  context: HttpContext,
  service: LoginLinkService,
  { request, user, email }: TypedCode,
): Promise<boolean> {
  const { guard } = request;
  const claim: LinkClaim = { request, account: mailedAccount(user) };
  const attempt = await service.throttle.hit(context, CODE_LIMIT, { guard, account: email });
  await service.proofs.countGuess(context, { guard, user, email });
  const isRight = service.codes.isCodeOf(claim, context.request.bodyInput(CODE_FIELD));
  if (!isRight || user === null || user.isBlocked?.() === true || !(await service.take(request.id))) return false;
  await service.throttle.giveBack(context, CODE_LIMIT, { attempt });
  await service.proofs.giveBackGuess(context);
  return true;
}
