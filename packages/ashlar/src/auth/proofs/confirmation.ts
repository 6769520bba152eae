import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type Message, now, type RegisteredUser } from "../../support/index.ts";
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
  /** The page to send a visitor to, as a page name for `auth.route`; `null` if none would help. */
  readonly page: string | null;

  /**
   * @param proofs the user's proofs that can be asked for again
   * @param flows how the proofs can be given, for API clients
   * @param page the first of their pages that the active guard has
   * @param wanted the proof or the factor that is required; `null` if any proof will do
   */
  constructor(proofs: readonly Proof[], flows: readonly LoginFlow[], page: string | null, wanted: string | null) {
    const methods = proofs.map(({ name }) => name);
    super("E_PASSWORD_NOT_CONFIRMED", sentenceFor(methods, wanted), { extensions: { methods, flows } });
    this.page = page;
  }

  /** The names of the accepted proofs, for API clients. */
  get methods(): readonly string[] {
    return this.extensions.methods as readonly string[];
  }
}

function sentenceFor(methods: readonly string[], wanted: string | null): Message | undefined {
  if (methods.length === 0) return wanted === null ? undefined : message("auth.confirm.unavailable");
  return methods.includes(PASSWORD) ? undefined : message("auth.confirm.required");
}

/**
 * The error for a user who has to prove their identity again, with any proof that they have.
 *
 * @param wanted the name of the proof that is required, or a factor that it satisfies; default: any proof
 */
export async function confirmationRequired(
  context: HttpContext,
  user: Authenticatable,
  wanted: string | null = null,
): Promise<ConfirmationRequiredError> {
  const { auth } = context;
  const proofs = await givenAnew(await auth.registry.proofs.ownedBy(user), user, wanted);
  const known = proofs.find((proof) => auth.hasRoute(proof.page!))?.page ?? "confirm_password";
  const page = proofs.length === 0 && wanted !== null ? null : known;
  const flows: LoginFlow[] = [];
  for (const proof of proofs) flows.push(...(await flowsOf(context, auth.guardName, user, givenAgain(proof))));
  return new ConfirmationRequiredError(proofs, flows, page, wanted);
}

/**
 * The proofs with a page that meet the requirement. A proof that is only a step is requested along with any other, and
 * so are several factors.
 */
async function givenAnew(
  owned: readonly Proof[],
  user: Authenticatable,
  wanted: string | null,
): Promise<readonly Proof[]> {
  const withPage = owned.filter(({ page }) => page !== undefined);
  if (wanted === null || wanted === "mfa") return withPage;
  const fitting: Proof[] = [];
  for (const proof of owned) if (await meets(proof, user, wanted)) fitting.push(proof);
  const own = withPage.filter((proof) => fitting.includes(proof));
  return own.length > 0 || fitting.length === 0 ? own : withPage;
}

/** Reports whether a proof that a user has is the wanted one, or satisfies the wanted factor, itself or by what its step accepts. */
async function meets({ name, amr, factors }: Proof, user: Authenticatable, wanted: string): Promise<boolean> {
  if (name === wanted || amr.includes(wanted)) return true;
  for (const factor of factors?.() ?? []) {
    if (factor.by !== wanted && !factor.amr.includes(wanted)) continue;
    if (await factor.has(user as object as RegisteredUser)) return true;
  }
  return false;
}

/** A proof, which is given in the ways of its step unless it lists others. */
function givenAgain(proof: Proof): Proof {
  const { flows, step } = proof;
  if (flows !== undefined || step?.flows === undefined) return proof;
  return { ...proof, flows: (user, context) => step.flows!(user, context) };
}

/**
 * Decides whether a form that asks for the password accepts a user who has none: any other proof in the last ten
 * minutes is sufficient.
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
