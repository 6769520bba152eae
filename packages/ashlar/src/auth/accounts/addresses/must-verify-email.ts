import type { Casts, ModelClass, Normalizers } from "../../../database/index.ts";
import type { HttpRequest } from "../../../http/index.ts";
import type { Mailer } from "../../../mail/index.ts";
import { normalizeEmail } from "../../../security/index.ts";
import { AshlarError, type Constructor, currentDate } from "../../../support/index.ts";
import { reread } from "../../access/reread.ts";
import { keyOf } from "../../users/authenticatable.ts";
import { asAccountUser } from "../users/account-user.ts";
import type { EmailVerification } from "./email-verification.ts";
import "../../../kernel/index.ts";

/** The members that {@link MustVerifyEmail} adds to a model. */
export interface MustVerifyEmailInstance {
  /** When the address was verified; `null` if it is not. `fill` never sets it. */
  verified_at: Date | null;
  /** Reports whether the user's address is verified. */
  hasVerifiedEmail(): boolean;
  /**
   * Sets `verified_at` to the current time, unless the address is already verified, and saves the model: its other
   * changes too, and a new model as a new row.
   *
   * @returns whether this call verified the address; of several parallel calls, only one returns `true`
   * @throws what `save` throws; `E_ROW_NOT_FOUND` if the row no longer exists
   */
  markEmailAsVerified(): Promise<boolean>;
  /**
   * Mails the user a signed verification link, after the response. Its host is that of `APP_URL`, never the request's.
   *
   * @param mail the container's service `mail`
   * @param request the current request; the event `auth.verification_sent` contains its address
   * @throws `E_UNKNOWN_ROUTE` without the route `email.verify`
   */
  verifyEmail(mail: Mailer, request: HttpRequest): Promise<void>;
}

/**
 * Requires users to prove that they own their address, with a link that is mailed to it. The table needs a column
 * `verified_at`.
 *
 * ```ts
 * class User extends compose(Model, Authenticates, MustVerifyEmail) {}
 * ```
 */
export function MustVerifyEmail<B extends ModelClass>(base: B): B & Constructor<MustVerifyEmailInstance> {
  class Verifying extends base {
    static override casts: Casts = { verified_at: "datetime" };
    static override guarded: readonly string[] = ["verified_at"];
    static override normalizes: Normalizers = { email: (text) => normalizeEmail(text) ?? text };
    declare verified_at: Date | null;

    hasVerifiedEmail(): boolean {
      return this.verified_at instanceof Date;
    }

    async markEmailAsVerified(): Promise<boolean> {
      if (!this.isStored()) {
        const isDone = !this.hasVerifiedEmail();
        if (isDone) this.verified_at = currentDate();
        await this.save();
        return isDone;
      }
      // One conditional UPDATE decides between parallel calls, and keeps the time of the first.
      const modelClass = this.constructor as ModelClass;
      const row = modelClass.where(modelClass.primaryKey, keyOf(this)).whereNull("verified_at");
      const isDone = (await row.update({ verified_at: currentDate() })) === 1;
      await reread(this, "verified_at");
      await this.save();
      return isDone;
    }

    async verifyEmail(mail: Mailer, request: HttpRequest): Promise<void> {
      const { emailVerification } = accountsOf(this.constructor as ModelClass);
      await emailVerification.mailLink(asAccountUser(this), mail, request);
    }
  }
  return Verifying as unknown as B & Constructor<MustVerifyEmailInstance>;
}

function accountsOf(modelClass: ModelClass): { readonly emailVerification: EmailVerification } {
  const { services } = modelClass;
  if (services?.has("accounts")) return services.make("accounts");
  const remedy = "List AuthProvider in PROVIDERS, and name the class in config/auth.ts: GUARDS.";
  throw new AshlarError("E_UNKNOWN_SERVICE", `The model ${modelClass.name} does not belong to a guard. ${remedy}`);
}
