import type { HttpContext } from "../../../http/index.ts";
import { currentDate } from "../../../support/index.ts";
import { accessEpochOf } from "../../access/access-epoch.ts";
import { announce } from "../../events.ts";
import { hasPassword, NO_PASSWORD } from "../../passwords/verify-credentials.ts";
import type { ProofRegistry } from "../../proofs/proof-registry.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { awaitsVerification } from "../../users/authenticatable.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { AccountAccess } from "./account-access.ts";

/** The dependencies of {@link FirstProof}. */
export interface FirstProofDependencies {
  readonly users: GuardUsers;
  readonly access: AccountAccess;
  readonly mails: AccountMails;
  readonly proofs: ProofRegistry;
}

/** What a mail says about the first proof of an address. */
interface FirstProofNotice {
  readonly guard: string;
  readonly language: string;
  readonly email: string;
  readonly provedAt: Date;
}

/** An account whose address was just proved. */
export interface ProvedAddress {
  /** As stored now. */
  readonly user: AccountUser;
  /** Whether a password or other ways to log in were removed, because they were set up before the first proof. */
  readonly removedEarlier: boolean;
}

/**
 * Proves the address of an account by a mail. Until the first such proof, anyone may have registered the account:
 * someone who knew the address could have set a password, added a passkey, and waited for the owner to come.
 *
 * Security: the first proof removes everything that was set up before it (GHSA-qq9h-g4jm-xgf3).
 */
export class FirstProof {
  readonly #dependencies: FirstProofDependencies;

  constructor(dependencies: FirstProofDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Notes that someone who reads the mails of an account's address is here. If that is the first proof, the address
   * counts as verified from now on, all access ends, the password becomes invalid, and the data of all other proofs is
   * deleted, in one transaction. If anything was removed, the owner gets a mail.
   *
   * @param proved the user, as read when the proof was verified
   * @returns `null` if access to the account has ended since, or it has another address
   */
  async give(context: HttpContext, guard: string, proved: AccountUser): Promise<ProvedAddress | null> {
    if (!awaitsVerification(proved)) return { user: proved, removedEarlier: false };
    const { access, mails } = this.#dependencies;
    const email = proved.email!;
    const voidsPassword = hasPassword(proved);
    const provedAt = currentDate();
    const notice = { guard, language: context.language, email, provedAt };
    if (mails.areSent) await mails.prepare();
    let removedEarlier = false;
    const changed = await access.end(guard, proved, {
      what: "everything",
      reason: "address_proved",
      proof: "user",
      address: context.request.clientAddress,
      changes: { verifiedAt: provedAt, ...(voidsPassword && { passwordHash: NO_PASSWORD }) },
      // One conditional statement decides between this, a verification, and another proof.
      conditions: { email, verifiedAt: null },
      also: async (user) => {
        removedEarlier = await this.removeEarlier(user, notice, voidsPassword);
      },
    });
    if (changed !== null) {
      announce(context, "auth.email_verified", guard, { user: changed });
      return { user: changed, removedEarlier };
    }
    // A link may have verified the address in the meantime, which ends no access.
    const user = await this.#dependencies.users.of(guard).findByAuthId(proved.authId());
    const isSame = user !== null && accessEpochOf(user) === accessEpochOf(proved) && user.email === email;
    return isSame && !awaitsVerification(user) ? { user, removedEarlier: false } : null;
  }

  /**
   * Deletes the data of all proofs of a user, such as passkeys and authenticator apps, and mails the owner if there was
   * any. Call it in the transaction that stores the first proof of the user's address.
   *
   * @param isPasswordVoided whether a password was made invalid, which the owner is mailed about, too
   * @returns whether anything was removed
   */
  async removeEarlier(user: AccountUser, notice: FirstProofNotice, isPasswordVoided = false): Promise<boolean> {
    const { mails } = this.#dependencies;
    const isRemoved = (await this.#removeProofs(user)) || isPasswordVoided;
    if (isRemoved && mails.areSent) await mails.tryQueue("addressProved", notice.email, { ...notice, user });
    return isRemoved;
  }

  async #removeProofs(user: AccountUser): Promise<boolean> {
    const { proofs, users } = this.#dependencies;
    const guards = users.guardsKeeping(user.constructor);
    const subject = { user, id: user.authId(), guards, email: user.email };
    let removed = false;
    for (const { data } of proofs.all) {
      if (data === undefined) continue;
      if ((await data.export(subject)).length > 0) removed = true;
      await data.erase(subject);
    }
    return removed;
  }
}
