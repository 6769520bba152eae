import type { Application } from "../../../boot/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import { countGuess } from "../../guards/guesses.ts";
import { ACCOUNT_LIMIT } from "../../limits.ts";
import { isAddress } from "../../passwords/verify-credentials.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { requireEmail } from "../users/account-input.ts";
import { MailedRegistration, type MailedRegistrationOptions } from "./mailed-registration.ts";

/** A code that someone has typed, for the account with an address. */
export interface MailedGuess {
  readonly guard: string;
  /** The account; `null` if the address has none. */
  readonly user: AccountUser | null;
  /** The address that the code was mailed to, in its normal form. */
  readonly email: string;
}

/** What features share that prove addresses by mail. */
export class MailProofs {
  readonly #application: Application;

  constructor(application: Application) {
    this.#application = application;
  }

  /**
   * An email address from an input, in its normal form.
   *
   * @throws `E_INVALID_INPUT` under `email`
   */
  requireEmail(input: unknown): string {
    return requireEmail(input);
  }

  /** Accounts that a mailed link makes. */
  registration(context: HttpContext, options: MailedRegistrationOptions): MailedRegistration {
    return new MailedRegistration(context, this.#application, options);
  }

  /**
   * Counts a code as a guess at the account's password, before it is compared: by the same name, whether or not there is an
   * account.
   *
   * Security: it takes as long as comparing a password, so that the time doesn't reveal the little that differs if there is an
   * account, such as creating the user from its row.
   *
   * @throws `E_TOO_MANY_REQUESTS` if the account allows no more; `E_OVERLOADED`
   */
  async countGuess(context: HttpContext, { guard, user, email }: MailedGuess): Promise<void> {
    const model = context.auth.registry.modelOf(guard);
    const isNamed = user === null || (model !== null && isAddress(model, email));
    await countGuess(context, { guard, user, identifier: isNamed ? email : null });
    await context.auth.registry.hasher.verify(null, email);
  }

  /** Gives back what {@link countGuess} has counted for this request, because the code was right. */
  async giveBackGuess(context: HttpContext): Promise<void> {
    await context.auth.throttle?.giveBack(context, ACCOUNT_LIMIT);
  }
}
