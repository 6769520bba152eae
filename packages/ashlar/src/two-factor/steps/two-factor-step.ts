import { asAuthenticatable, type FeatureProof, type LoginFlow, type LoginInProgress } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type Message, type RegisteredUser } from "../../support/index.ts";
import { RECOVERY_CODE } from "../factors/recovery-codes.ts";
import { TOTP } from "../factors/totp.ts";
import { RECOVERY_LIMIT, UNLOCK_LIMIT } from "../limits.ts";
import { message } from "../messages.ts";
import type { TwoFactorService } from "../two-factor.ts";
import { Unlocking } from "./unlocking.ts";

type Factor = TwoFactorService["factors"][number];

/** The factors whose proofs are typed in. */
const CODES: readonly string[] = [TOTP, RECOVERY_CODE];

/** The field of a request's body that makes the device of a login a trusted one. */
const TRUST = "trust_device";

/**
 * The second step of a login, for users who have a second factor: passed by any factor that they have. The login then records that
 * factor.
 */
export function twoFactorProof(service: () => TwoFactorService): FeatureProof {
  const step = new TwoFactorStep(service);
  return {
    amr: [],
    has: (user) => service().isAsked(user),
    factors: () => service().factors.map(({ name, amr, has }) => ({ by: name, amr, has })),
    step: {
      page: "two_factor",
      check: (login) => step.check(login),
      flows: (user, context) => step.flows(user, context),
    },
  };
}

class TwoFactorStep {
  readonly #makeService: () => TwoFactorService;

  constructor(service: () => TwoFactorService) {
    this.#makeService = service;
  }

  async check(login: LoginInProgress): Promise<"passed" | { readonly pending: Message }> {
    const { amr, context, purpose, user } = login;
    // The token was issued after a second factor, or the login began with a proof that is two.
    if (purpose === "renewal" || amr.includes("mfa")) return "passed";
    const owner = asAuthenticatable(user);
    if (purpose === "login" && (await this.#service.devices.isTrusted(context, owner))) return "passed";
    const given = await this.#given(login);
    if (given === null) {
      const hasApp = await this.#service.totp.has(owner);
      return { pending: message(hasApp ? "two_factor.missing" : "two_factor.missingOther") };
    }
    const refusal = await this.#prove(login, given.factor, given.proof);
    if (refusal !== null) return { pending: refusal };
    if (purpose === "login") await this.#trust(login);
    return "passed";
  }

  /** Each factor of a user is one way to pass it. */
  async flows(user: RegisteredUser, context: HttpContext): Promise<readonly LoginFlow[]> {
    const flows: LoginFlow[] = [];
    for (const { name, field, flow, has } of this.#service.factors) {
      if (await has(user)) flows.push({ id: name, field, ...flow?.(context) });
    }
    return flows;
  }

  /** The first factor of the user that the request has a proof of. One that the login began with isn't a second one. */
  async #given({ by, context, user }: LoginInProgress): Promise<{ factor: Factor; proof: string } | null> {
    for (const factor of this.#service.factors) {
      const proof = textOf(context.request.bodyInput(factor.field));
      if (factor.name === by || proof === "") continue;
      if (await factor.has(user)) return { factor, proof };
    }
    return null;
  }

  /** @returns `null` if the proof holds, or else what to tell the user */
  async #prove(login: LoginInProgress, factor: Factor, proof: string): Promise<Message | null> {
    const { context, user } = login;
    const unlocking = this.#unlocking(login, factor);
    if (unlocking?.hasBegun === true) return this.#unlock(login, unlocking, proof);
    const given = { by: factor.name, amr: factor.amr };
    const limit = factor.isGuessable === false ? RECOVERY_LIMIT : undefined;
    try {
      const holds = await login.prove(() => factor.accept(user, proof, context), given, limit);
      if (!holds) return message(CODES.includes(factor.name) ? "two_factor.wrong" : "two_factor.wrongOther");
    } catch (error) {
      const isUsedUp = error instanceof AshlarError && error.code === "E_TOO_MANY_REQUESTS";
      if (!isUsedUp || unlocking === null) throw error;
      return this.#unlock(login, unlocking, proof);
    }
    if (factor.name === RECOVERY_CODE) await this.#tellOfRecoveryCode(login);
    return null;
  }

  /** Only for codes, and only for visitors with a session. */
  #unlocking({ context, user }: LoginInProgress, { name }: Factor): Unlocking | null {
    if (name !== TOTP || context.visitor === null) return null;
    return new Unlocking(context, this.#service.totp.sealer, this.#service.ownerOf(user));
  }

  async #unlock(login: LoginInProgress, unlocking: Unlocking, code: string): Promise<Message | null> {
    const { totp } = this.#service;
    const added = unlocking.add(code);
    if (added === "same") return message("two_factor.unlock.same");
    if (added === "next") return message("two_factor.unlock");
    if (added === "last") return message("two_factor.unlock.second");
    const owner = asAuthenticatable(login.user);
    const given = { by: TOTP, amr: totp.amr };
    const areRight = await login.prove(() => totp.acceptInRow(owner, added), given, UNLOCK_LIMIT);
    return areRight ? null : message("two_factor.unlock.wrong");
  }

  async #tellOfRecoveryCode({ context, guard, user }: LoginInProgress): Promise<void> {
    const left = await this.#service.recoveryCodes.left(asAuthenticatable(user));
    const place = { guard, address: context.request.clientAddress };
    const change = { change: "codeUsed", left } as const;
    await this.#service.changed(place, user, "two_factor.code_used", { left }, change);
  }

  async #trust({ context, guard, user }: LoginInProgress): Promise<void> {
    const wish = context.request.bodyInput(TRUST);
    // API clients have no cookies.
    if (context.visitor === null || !(wish === "1" || wish === true)) return;
    if (!(await this.#service.devices.trust(context, asAuthenticatable(user)))) return;
    const place = { guard, address: context.request.clientAddress };
    this.#service.announce(place, user, "two_factor.device_trusted", {});
  }

  get #service(): TwoFactorService {
    return this.#makeService();
  }
}

/** A proof as a form sends it. API clients send some, such as that of a passkey, as an object. */
function textOf(input: unknown): string {
  if (typeof input === "string") return input;
  return typeof input === "object" && input !== null ? JSON.stringify(input) : "";
}
