import { type HttpContext, isSpeculative, type Middleware, type Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../../support/index.ts";
import { forgetPassedSteps } from "../guards/confirmation.ts";
import type { Guard } from "../guards/guard.ts";
import type { GuardRegistry } from "../guards/guard-registry.ts";
import { requireGuards } from "../guards/require-guards.ts";
import { confirmationRequired } from "../proofs/confirmation.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { WebGuard } from "../web/web-guard.ts";
import { CONFIRMED_MINUTES, isProvedWithin, provedBy } from "./proved-by.ts";
import { guestFlows, keepRefusedForm, refuseGuest } from "./refuse-guest.ts";
import "../errors.ts";

const MINUTES = /^[1-9]\d{0,8}$/;
/** Names of proofs and factors, which a header can carry in quotes. */
const NAME = /^[a-z][\w.-]*$/i;

/** The value of RFC 8176 for several factors, which no single proof has to declare. */
const SEVERAL_FACTORS = "mfa";

/** What a route requires. */
interface Requirement {
  /** The name of a proof, or a factor; `null` for any proof. */
  readonly wanted: string | null;
  readonly minutes: number;
}

/**
 * `password.confirm`, `password.confirm:<minutes>`: only lets users through who have proved who they are within that
 * number of minutes, at login or later, with the password or another proof; default: 180. A login without a proof, such
 * as with `loginAs`, doesn't count.
 *
 * `password.confirm:passkey`, `password.confirm:otp,10`: only a certain proof counts, by its name, or by a factor that it
 * satisfies, as a value of RFC 8176: `otp`, `hwk`, `mfa`. `confirm` is another name for the same middleware.
 *
 * A visitor of a page is sent to the active guard's page `confirm_password`, or if they have no password, to the page
 * of another proof that counts, and then to the page they wanted. A caller that accepts JSON gets a 403 that names the
 * proofs in `methods`, and how to give them in `flows`; so does a browser that preloads the page, and a user who has no
 * such proof. Guests are treated as by `auth`.
 *
 * A user identified by an API token needs one of a recent login: otherwise, the response is a 401 with the challenge of
 * RFC 9470, whose `acr_values` name what is wanted, and `max_age` the number of seconds. Tokens say when their user
 * proved who they are if their driver has `authenticationClaims`; without that, none counts.
 */
export class ConfirmPasswordMiddleware implements Middleware {
  readonly #guards: GuardRegistry;

  constructor(container: Container) {
    this.#guards = requireGuards(container);
  }

  /**
   * @throws `E_UNAUTHENTICATED`, `E_PASSWORD_NOT_CONFIRMED` if the caller accepts JSON; `E_INSUFFICIENT_AUTHENTICATION` for
   * a token; `E_UNSUPPORTED_GUARD_OPERATION` if the active guard has neither logins nor tokens with claims
   */
  async handle(context: HttpContext, next: Next, ...args: string[]): Promise<unknown> {
    const guard: Guard = context.auth.guard(context.auth.guardName);
    if (!(await guard.check())) return refuseGuest(context, guard);
    const requirement = requirementOf(args);
    const { wanted, minutes } = requirement;
    if (isProvedWithin(provedBy(guard), this.#guards.proofs, wanted, minutes)) return next();
    if (!(guard instanceof WebGuard) && guard.claims !== undefined) throw insufficient(context, guard, requirement);
    // Any other guard doesn't know when its user gave a proof.
    const user = context.auth.webGuard.knownUser as unknown as Authenticatable;
    const { request } = context;
    const required = await confirmationRequired(context, user, wanted);
    const isAhead = isSpeculative(request.raw);
    // For ten minutes, a confirmation would skip the step that gives the factor, and lead back here without it.
    if (wanted !== null && !isAhead) forgetPassedSteps(context, guard.name);
    if (required.page === null || request.wantsJson() || isAhead) throw required;
    await keepRefusedForm(context);
    return context.auth.redirectToRoute(required.page);
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` unless the arguments are the name of a proof or a factor, a whole number of minutes
   * above 0, both in this order, or missing
   */
  checkArguments(...args: string[]): void {
    const [first, second, ...rest] = args;
    const isNamed = first !== undefined && NAME.test(first);
    const areMinutes = isNamed ? second === undefined || MINUTES.test(second) : second === undefined;
    if (rest.length > 0 || !areMinutes || !(isNamed || first === undefined || MINUTES.test(first))) {
      const problem = "it takes the name of a proof or a factor, a whole number of minutes above 0, or both.";
      throw new ConfigurationError(
        "password.confirm",
        problem,
        "Write password.confirm:30 or password.confirm:otp,30.",
      );
    }
    const known = this.#known();
    if (!isNamed || known.has(first)) return;
    const problem = `no proof or step is named "${first}", and none satisfies such a factor.`;
    throw new ConfigurationError("password.confirm", problem, suggestion(first, known));
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }

  #known(): ReadonlySet<string> {
    const { names, proofs } = this.#guards;
    const all = [...proofs.all, ...names.flatMap((name) => this.#guards.stepsOf(name))];
    const accepted = proofs.all.flatMap(({ factors }) => factors?.() ?? []);
    return new Set([
      SEVERAL_FACTORS,
      ...all.flatMap(({ name, amr = [] }) => [name, ...amr]),
      ...accepted.flatMap(({ by, amr }) => [by, ...amr]),
    ]);
  }
}

function requirementOf(args: readonly string[]): Requirement {
  const [first = null, second] = args;
  if (first !== null && MINUTES.test(first)) return { wanted: null, minutes: Number(first) };
  return { wanted: first, minutes: second === undefined ? CONFIRMED_MINUTES : Number(second) };
}

/** The response to a token whose login doesn't suffice (RFC 9470 §3). */
function insufficient(context: HttpContext, guard: Guard, { wanted, minutes }: Requirement): AshlarError {
  const seconds = minutes * 60;
  const parameters = [
    'error="insufficient_user_authentication"',
    ...(wanted === null ? [] : [`acr_values="${wanted}"`]),
    `max_age="${seconds}"`,
  ];
  return new AshlarError("E_INSUFFICIENT_AUTHENTICATION", undefined, {
    headers: { "WWW-Authenticate": `Bearer ${parameters.join(", ")}` },
    extensions: {
      ...(wanted !== null && { acr_values: wanted }),
      max_age: seconds,
      flows: guestFlows(context, guard),
    },
  });
}
