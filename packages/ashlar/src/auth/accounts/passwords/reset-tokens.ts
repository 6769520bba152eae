import { digest, isSameEmail } from "../../../security/index.ts";
import { makeAccessEpoch } from "../../access/access-epoch.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { type AccountClaim, type AccountLinks, epochDigestOf } from "../links/account-links.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { PasswordResetTable } from "./password-reset-table.ts";

/** The primary key of an account that does not exist. */
const NOBODY = "0";

/** The dependencies of {@link ResetTokens}. */
export interface ResetTokensDependencies {
  readonly users: GuardUsers;
  readonly links: AccountLinks;
  readonly resets: PasswordResetTable;
}

/**
 * Creates and checks the tokens in links that set a password. They are signed, and valid as long as the table of resets
 * has their digest.
 */
export class ResetTokens {
  readonly #dependencies: ResetTokensDependencies;

  constructor(dependencies: ResetTokensDependencies) {
    this.#dependencies = dependencies;
  }

  /** Creates the token for a link that sets a user's password, and stores its digest, replacing an older one. */
  async issue(guard: string, user: AccountUser): Promise<string> {
    const { users, links, resets } = this.#dependencies;
    const token = links.reset({ guard, id: String(user.authId()), epoch: epochDigestOf(user) });
    const email = user.email!;
    await resets.replace(guard, email, token, { users: users.tableBesideAuth(guard), email, isKnown: true });
    return token;
  }

  /** Does the same work for an address without an account as {@link issue} does for one with an account. */
  async issueToNoOne(guard: string, email: string): Promise<string> {
    const { users, links, resets } = this.#dependencies;
    const token = links.reset({ guard, id: NOBODY, epoch: digest(makeAccessEpoch()) });
    const finding = { users: users.tableBesideAuth(guard), email, isKnown: false };
    await resets.replace(guard, placeholder(email), token, finding);
    return token;
  }

  /** The user to whom a token was mailed, provided that it can still be used and nothing has invalidated it since. */
  async ownerOf(token: string, { guard, id, epoch }: AccountClaim): Promise<AccountUser | null> {
    const user = await this.#find(token, guard, id);
    return user !== null && epochDigestOf(user) === epoch ? user : null;
  }

  async #find(token: string, guard: string, id: string): Promise<AccountUser | null> {
    const { users, resets } = this.#dependencies;
    const model = users.joinableModelOf(guard);
    if (model !== null) return (await resets.ownerOf(token, model, id)) as unknown as AccountUser | null;
    const email = await resets.addressOf(token);
    const user = email === null ? null : ((await users.named(guard)?.findByAuthId(id)) ?? null);
    return user !== null && isSameEmail(user.email, email!) ? user : null;
  }
}

/**
 * The text that the table holds for an address without an account; it is not an address itself. There are only 4096
 * such texts, so made-up addresses can't fill the table, and mistyped addresses aren't stored.
 */
function placeholder(email: string): string {
  return `nobody-${digest(email).slice(0, 2)}`;
}
