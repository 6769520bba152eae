import type { HttpContext } from "../../http/index.ts";
import { AshlarError, now } from "../../support/index.ts";
import { message } from "../messages.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { flowsOf, type LoginFlow } from "./login-flow.ts";
import type { LoginMethod } from "./login-methods.ts";
import { PASSWORD, type Proof } from "./proof.ts";
import "../errors.ts";

/** How long a user's proof counts in place of the password in forms, if the user has no password. */
const RECENT_MS = 10 * 60_000;

/** The user has to prove their identity again before the request can be fulfilled. */
export class ConfirmationRequiredError extends AshlarError {
  /** The page to send a visitor to, as a page name for `auth.route`. */
  readonly page: string;

  /**
   * @param proofs the user's proofs that can be asked for again
   * @param flows how they can be given, for API clients
   * @param page the first of their pages that the active guard has
   */
  constructor(proofs: readonly Proof[], flows: readonly LoginFlow[], page: string) {
    const methods = proofs.map(({ name }) => name);
    const sentence = methods.includes(PASSWORD) || methods.length === 0 ? undefined : message("auth.confirm.required");
    super("E_PASSWORD_NOT_CONFIRMED", sentence, { extensions: { methods, flows } });
    this.page = page;
  }

  /** The names of the accepted proofs, as an API client gets them. */
  get methods(): readonly string[] {
    return this.extensions.methods as readonly string[];
  }
}

/** The error for a user who has to prove their identity again, with any proof that they have. */
export async function confirmationRequired(
  context: HttpContext,
  user: Authenticatable,
): Promise<ConfirmationRequiredError> {
  const { auth } = context;
  const proofs = (await auth.registry.proofs.ownedBy(user)).filter(({ page }) => page !== undefined);
  const page = proofs.find((proof) => auth.hasRoute(proof.page!))?.page ?? "confirm_password";
  const flows: LoginFlow[] = [];
  for (const proof of proofs) flows.push(...(await flowsOf(context, auth.guardName, user, givenAgain(proof))));
  return new ConfirmationRequiredError(proofs, flows, page);
}

/** A proof, which is given in the ways of its step unless it lists others. */
function givenAgain(proof: Proof): Proof {
  const { flows, step } = proof;
  if (flows !== undefined || step?.flows === undefined) return proof;
  return { ...proof, flows: (user, context) => step.flows!(user, context) };
}

/**
 * Decides whether a form that asks for the password accepts a user who has none: any other proof in the last ten
 * minutes counts.
 *
 * @param login when the user last proved who they are in it, and how; `null` without one
 * @returns whether it counts; `false` if the user has nothing to prove it with
 * @throws a {@link ConfirmationRequiredError} if the user has another proof, and has to give it first
 */
export async function isConfirmedOtherwise(
  context: HttpContext,
  user: Authenticatable,
  login: ConfirmableLogin | null,
): Promise<boolean> {
  if (login !== null && isRecent(login.authenticatedAt) && isByOther(login.methods ?? [])) return true;
  const required = await confirmationRequired(context, user);
  if (required.methods.length > 0) throw required;
  return false;
}

/** What is known about a login's proofs. */
interface ConfirmableLogin {
  readonly authenticatedAt: Date | null;
  readonly methods?: readonly LoginMethod[] | undefined;
}

/** A password that was proved before it was removed doesn't count. Unknown if the store doesn't keep methods. */
function isByOther(methods: readonly LoginMethod[]): boolean {
  return methods.length === 0 || methods.some(({ by, at }) => by !== PASSWORD && isRecent(at));
}

function isRecent(time: Date | null): boolean {
  const age = time === null ? Number.NaN : now() - time.getTime();
  return age >= 0 && age < RECENT_MS;
}
