import { type Authenticatable, asAuthenticatable, type LoginResult, type PendingLogin } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type RegisteredUser, ValidationError } from "../../support/index.ts";
import { type Enrolment, enrolmentOf } from "../codes/enrolment.ts";
import { newSecret } from "../codes/one-time-codes.ts";
import { TOTP } from "../factors/totp.ts";
import type { TrustedDevice } from "../factors/trusted-devices.ts";
import { message } from "../messages.ts";
import { SETUP_STEP } from "../steps/setup-step.ts";
import type { ChangePlace, TwoFactorService } from "../two-factor.ts";
import { isFew } from "../two-factor-mail.ts";
import "../errors.ts";
import "../../http/index.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The second factors of the request's user, or of a login that waits. */
    readonly twoFactor: RequestTwoFactor;
  }
}

const KEY = "two_factor.secret";
/** How long the page with the secret can be used. */
const MAX_AGE_SECONDS = 30 * 60;

/** What the page about a user's second factor shows. */
export interface TwoFactorPage {
  /** Whether the user has an authenticator app. */
  readonly isOn: boolean;
  /** Whether the user needs a second factor, so that it can't be turned off. */
  readonly isRequired: boolean;
  readonly recoveryCodesLeft: number;
  /** Whether these are so few that the user should make new ones. */
  readonly hasFewRecoveryCodes: boolean;
  /** The devices that the user trusts, newest first. */
  readonly devices: readonly TrustedDevice[];
}

/**
 * The second factors of a request's user: `context.twoFactor`. No method reaches those of another user.
 *
 * Routes that change them have to ask for a recent proof first: `TwoFactor.routes` does.
 */
export class RequestTwoFactor {
  readonly #context: HttpContext;
  readonly #service: TwoFactorService;

  constructor(context: HttpContext, service: TwoFactorService) {
    this.#context = context;
    this.#service = service;
  }

  /** For how many days users may let a device skip the second factor; `null` if they can't. */
  get trustDays(): number | null {
    return this.#service.devices.days;
  }

  /** The address of a text file with recovery codes, for a link that downloads it: the page itself contains the file. */
  fileOf(recoveryCodes: readonly string[]): string {
    const text = [this.#service.issuer, "", ...recoveryCodes, ""].join("\r\n");
    return `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
  }

  /** @throws `E_UNAUTHENTICATED` without a user */
  async page(): Promise<TwoFactorPage> {
    const user = await this.#user();
    const owner = asAuthenticatable(user);
    const isOn = await this.#service.totp.has(owner);
    const recoveryCodesLeft = await this.#service.recoveryCodes.left(owner);
    return {
      isOn,
      isRequired: await this.#service.needs(user),
      recoveryCodesLeft,
      hasFewRecoveryCodes: isOn && isFew(recoveryCodesLeft),
      devices: await this.#service.devices.list(owner),
    };
  }

  /**
   * The secret that the user is to add to an app, which is the same until it is used, or for half an hour: for the request's user,
   * or for the user of a login that waits for the step `two_factor_setup`.
   *
   * @throws `E_UNAUTHENTICATED` without either
   */
  async enrolment(): Promise<Enrolment> {
    const user = (await this.#waiting())?.user ?? (await this.#user());
    const secret = this.#secretOf(user) ?? newSecret();
    this.#context.session.put(KEY, this.#service.totp.sealer.seal(this.#nameOf(user), secret));
    return enrolmentOf(secret, this.#service.issuer, accountOf(user));
  }

  /**
   * Sets up the app with the secret of {@link enrolment} for the request's user, or replaces the app that the user has. The first
   * factor ends the user's other logins.
   *
   * @param code the code that the app shows, as it arrives
   * @returns the recovery codes; empty if another app was replaced, because those stay
   * @throws `E_INVALID_INPUT` if the code is wrong; `E_UNAUTHENTICATED` without a user; `E_STALE_PROOF` if access to the account has
   * just ended
   */
  async enrol(code: unknown): Promise<readonly string[]> {
    const user = await this.#user();
    const owner = asAuthenticatable(user);
    const secret = this.#requireSecret(user);
    const typed = textOf(code);
    if (await this.#service.totp.has(owner)) {
      if (!(await this.#service.totp.replace(owner, secret, typed))) throw wrongCode();
      this.#forgetSecret();
      const factor = { factor: TOTP };
      await this.#service.changed(this.#place, user, "two_factor.replaced", factor, { change: "replaced" });
      return [];
    }
    const isFirst = !(await this.#service.has(user));
    await this.#add(owner, secret, typed);
    const codes = await this.#renewed(owner);
    await this.#added(user);
    if (isFirst) await this.#context.auth.logins().endOthers();
    return codes;
  }

  /**
   * Sets up the app for the user of a login that waits for the step `two_factor_setup`, and continues the login. Once it is
   * complete, the user's other logins end.
   *
   * @returns the result, and the recovery codes; `null` if no login waits for this step
   * @throws `E_INVALID_INPUT` if the code is wrong
   */
  async finishSetup(
    code: unknown,
  ): Promise<{ readonly login: LoginResult; readonly recoveryCodes: readonly string[] } | null> {
    const waiting = await this.#waiting();
    if (waiting === null) return null;
    const { user } = waiting;
    const owner = asAuthenticatable(user);
    const secret = this.#requireSecret(user);
    const factor = { by: TOTP, amr: this.#service.totp.amr };
    const login = await waiting.pass(
      SETUP_STEP,
      async () => {
        await this.#add(owner, secret, textOf(code));
        return true;
      },
      factor,
    );
    const recoveryCodes = await this.#renewed(owner);
    await this.#added(user);
    if (login.status === "complete") await this.#context.auth.logins().endOthers();
    return { login, recoveryCodes };
  }

  /**
   * Replaces the recovery codes of the request's user.
   *
   * Security: show them once, in the response to this request. Don't store them anywhere.
   *
   * @throws `E_TWO_FACTOR_SETUP_REQUIRED` if the user has no second factor; `E_UNAUTHENTICATED` without a user; `E_STALE_PROOF`
   */
  async renewRecoveryCodes(): Promise<readonly string[]> {
    const user = await this.#user();
    if (!(await this.#service.has(user))) throw new AshlarError("E_TWO_FACTOR_SETUP_REQUIRED");
    const codes = await this.#renewed(asAuthenticatable(user));
    const change = { change: "codesRenewed", left: codes.length } as const;
    await this.#service.changed(this.#place, user, "two_factor.codes_renewed", {}, change);
    return codes;
  }

  /**
   * Removes the app of the request's user, and with the last factor the recovery codes and trusted devices.
   *
   * @returns whether there was an app
   * @throws `E_INVALID_INPUT` if the user needs a second factor and would have none; `E_UNAUTHENTICATED` without a user
   */
  async turnOff(): Promise<boolean> {
    const user = await this.#user();
    const owner = asAuthenticatable(user);
    const hasOther = await this.#service.hasBesides(user, TOTP);
    if (!hasOther && (await this.#service.needs(user))) {
      throw new ValidationError({ "": [message("two_factor.required")] });
    }
    const wasOn = hasOther ? await this.#service.totp.remove(owner) : await this.#service.removeAll(owner);
    if (!wasOn) return false;
    await this.#service.changed(this.#place, user, "two_factor.removed", { factor: TOTP }, { change: "removed" });
    return true;
  }

  /**
   * Stops trusting a device.
   *
   * @param id as in {@link page}; it may come from an input, of any type
   * @returns whether the device was trusted by the request's user
   */
  async forgetDevice(id: unknown): Promise<boolean> {
    const user = await this.#user();
    return typeof id === "string" && this.#service.devices.end(asAuthenticatable(user), id);
  }

  async #waiting(): Promise<PendingLogin | null> {
    const login = await this.#context.auth.pendingLogin();
    return login?.step === SETUP_STEP ? login : null;
  }

  async #user(): Promise<RegisteredUser> {
    const user = await this.#context.auth.user();
    if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
    return user;
  }

  async #add(owner: Authenticatable, secret: string, code: string): Promise<void> {
    const result = await this.#service.totp.add(owner, secret, code);
    if (result === "wrong") throw wrongCode();
    if (result === "taken") throw new ValidationError({ code: [message("two_factor.taken")] });
    if (result === "ended") throw new AshlarError("E_STALE_PROOF");
    this.#forgetSecret();
  }

  async #added(user: RegisteredUser): Promise<void> {
    await this.#service.changed(this.#place, user, "two_factor.added", { factor: TOTP }, { change: "added" });
  }

  async #renewed(owner: Authenticatable): Promise<readonly string[]> {
    const codes = await this.#service.recoveryCodes.renew(owner);
    if (codes === null) throw new AshlarError("E_STALE_PROOF");
    return codes;
  }

  get #place(): ChangePlace {
    return { guard: this.#context.auth.guardName, address: this.#context.request.clientAddress };
  }

  /** @throws `E_INVALID_INPUT` if the page with the secret has expired */
  #requireSecret(user: RegisteredUser): string {
    const secret = this.#secretOf(user);
    if (secret === null) throw new ValidationError({ code: [message("two_factor.expired")] });
    return secret;
  }

  #secretOf(user: RegisteredUser): string | null {
    const sealed = this.#context.session.get(KEY);
    return typeof sealed === "string"
      ? this.#service.totp.sealer.open(this.#nameOf(user), sealed, MAX_AGE_SECONDS)
      : null;
  }

  #forgetSecret(): void {
    this.#context.session.forget(KEY);
  }

  /** The secret of another user of this browser doesn't open. */
  #nameOf(user: RegisteredUser): string {
    return `enrolment ${this.#service.ownerOf(user)}`;
  }
}

function wrongCode(): ValidationError {
  return new ValidationError({ code: [message("two_factor.codeWrong")] });
}

function textOf(code: unknown): string {
  return typeof code === "string" ? code : "";
}

/** What a user knows the account by. */
function accountOf(user: RegisteredUser): string {
  const { email, name } = user as { readonly email?: unknown; readonly name?: unknown };
  const label = [email, name].find((one) => typeof one === "string" && one !== "");
  return typeof label === "string" ? label : String(asAuthenticatable(user).authId());
}
