import { UniqueViolationError } from "../../../database/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import type { Background } from "../../../kernel/index.ts";
import { PromiseBroken } from "../../../mail/index.ts";
import {
  currentDate,
  type FieldErrors,
  isPlainObject,
  type MaybePromise,
  now,
  type RegisteredUser,
  ValidationError,
} from "../../../support/index.ts";
import { accessEpochOf, makeAccessEpoch } from "../../access/access-epoch.ts";
import { announce } from "../../events.ts";
import { countGuess } from "../../guards/guesses.ts";
import { provesOwnPassword } from "../../guards/own-password.ts";
import { ACCOUNT_LIMIT } from "../../limits.ts";
import { message } from "../../messages.ts";
import { isAddress, normalizeIdentifier } from "../../passwords/verify-credentials.ts";
import { PASSWORD } from "../../proofs/proof.ts";
import type { AccountStore, AccountUser, NewAccount } from "../../users/account-store.ts";
import { awaitsVerification, isVerifiable } from "../../users/authenticatable.ts";
import type { AddressOwners } from "../addresses/address-owners.ts";
import type { EmailVerification } from "../addresses/email-verification.ts";
import { ReservedAddress, type ReservedAddresses, TAKEN } from "../addresses/reserved-addresses.ts";
import type { UnfinishedRegistrations } from "../addresses/unfinished-registrations.ts";
import type { AccountPromises, PromiseWork } from "../links/account-promises.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import { checkEmail, checkName, choosePassword, refuse } from "../users/account-input.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { EnumerationPrevention } from "./enumeration-prevention.ts";
import { areOfOneRegistration, type RegistrationEpochs, registeredAt } from "./registration-epochs.ts";

/** The input of a registration: the address, the password, and values for other columns. */
export interface RegistrationAttributes {
  readonly email: unknown;
  readonly password: unknown;
  /** Must match the password if it is present. */
  readonly password_confirmation?: unknown;
  readonly [column: string]: unknown;
}

/** The input for an account whose address is already proved: the address, and values for other columns. */
export interface ProvedAttributes {
  readonly email: unknown;
  /** The name of the proof that has proved the address, as its feature declares it. */
  readonly provedBy: string;
  readonly [column: string]: unknown;
}

const EMAIL = "email";

/** How long a repeated registration counts as the same one, without mailing its link again. */
const REPEATED_WITHIN_MS = 10 * 60_000;

/** A form never sets the age of an account. */
const TIMES: readonly string[] = ["created_at", "updated_at"];

/** The dependencies of {@link Registration}. */
export interface RegistrationDependencies {
  readonly users: GuardUsers;
  readonly addresses: ReservedAddresses;
  readonly owners: AddressOwners;
  readonly unfinished: UnfinishedRegistrations;
  readonly mails: AccountMails;
  readonly background: Background;
  readonly promises: AccountPromises;
  /** Whether responses are the same for free and taken addresses. */
  readonly preventEnumeration: boolean;
  readonly prevention: EnumerationPrevention;
  readonly verification: EmailVerification;
  readonly epochs: RegistrationEpochs;
}

/** Additional work for a registration; see `Accounts.register`. */
export type RegistrationWork = (user: RegisteredUser) => MaybePromise<void>;

type Stored = { readonly user: AccountUser; readonly taken: null } | { readonly user: null; readonly taken: string };

/** Creates accounts. */
export class Registration {
  readonly #dependencies: RegistrationDependencies;
  readonly #promise: PromiseWork<NewAccount, never>;

  constructor(dependencies: RegistrationDependencies) {
    this.#dependencies = dependencies;
    this.#promise = dependencies.promises.declare("registration", "a registration", (context, account) =>
      this.#registerLater(context, account),
    );
  }

  /** See `Accounts.register`. */
  async register(
    context: HttpContext,
    given: RegistrationAttributes,
    belonging: RegistrationWork = () => {},
  ): Promise<AccountUser | null> {
    const { users, owners, mails, background, preventEnumeration } = this.#dependencies;
    const guard = context.auth.guardName;
    const account = await this.#check(context, users.of(guard), given);
    if (preventEnumeration) {
      this.#dependencies.prevention.requireVerifiable(guard);
      await mails.prepare();
      await this.#promise(context, account);
      return null;
    }
    const { user, taken } = await this.#store(guard, account, async (made) => {
      announce(context, "auth.registered", guard, { user: made });
      await belonging(made as RegisteredUser);
    });
    if (user !== null) return user;
    if (taken === EMAIL) {
      const own = await this.#registeredBefore(context, account, given.password);
      if (own !== null) return own;
    }
    if (taken === EMAIL && mails.areSent) {
      background.run("a notice to the owner of an address", () => owners.tell(guard, account.email, false));
    }
    throw new ValidationError({ [taken]: [taken === EMAIL ? TAKEN : message("auth.value.taken")] });
  }

  /** See `Accounts.create`. */
  async create(
    context: HttpContext,
    { email: address, provedBy, ...rest }: ProvedAttributes,
    belonging: RegistrationWork = () => {},
  ): Promise<AccountUser | null> {
    const { users, unfinished } = this.#dependencies;
    const { guardName: guard, registry } = context.auth;
    registry.proofs.of(provedBy);
    const { email, attributes, errors } = readAttributes(users.of(guard), address, rest);
    refuse(errors);
    const account = { email: email!, passwordHash: null, accessEpoch: makeAccessEpoch(), attributes };
    const created = await this.#storeProved(context, account, belonging);
    if (created !== null) return created;
    // No one could ever log in to that account, and the caller owns the address.
    const owner = await users.of(guard).findByEmail(account.email);
    if (owner === null || !unfinished.has(guard, owner)) return null;
    return users.transaction(guard, async () => {
      if (!(await unfinished.discard(guard, owner))) return null;
      return this.#storeProved(context, account, belonging);
    });
  }

  /**
   * Stores an account whose address is proved, and marks it as verified, if its users verify addresses.
   *
   * @returns the user; `null` if another account has the address
   * @throws `E_INVALID_INPUT` if another value is taken
   */
  async #storeProved(
    context: HttpContext,
    account: NewAccount,
    belonging: RegistrationWork,
  ): Promise<AccountUser | null> {
    const guard = context.auth.guardName;
    let user: AccountUser | null = null;
    const { taken } = await this.#store(guard, account, async (made) => {
      // A store returns a new object.
      user = isVerifiable(made)
        ? await this.#dependencies.users.of(guard).update(made, { verifiedAt: currentDate() }, {})
        : made;
      if (user === null) throw new Error("An account that was just stored is gone.");
      announce(context, "auth.registered", guard, { user });
      await belonging(user as RegisteredUser);
    });
    if (taken !== null && taken !== EMAIL) throw new ValidationError({ [taken]: [message("auth.value.taken")] });
    return user;
  }

  /**
   * Checks a registration, and returns the account to be stored.
   *
   * @throws `E_INVALID_INPUT` with all problems
   */
  async #check(context: HttpContext, store: AccountStore, given: RegistrationAttributes): Promise<NewAccount> {
    const guard = context.auth.guardName;
    const { email: address, password, password_confirmation: confirmation = password, ...rest } = given;
    const { email, attributes, errors } = readAttributes(store, address, rest);
    let passwordHash = "";
    const accept = async (plain: unknown): Promise<void> => {
      passwordHash = await this.#dependencies.users.hashFirstPassword(guard, attributes, email, plain);
    };
    // All other checks come first: only a caller who has made the effort to register an address learns that it is
    // taken.
    refuse({ ...errors, ...(await choosePassword(accept, password, confirmation)) });
    // It must be text, because anything else was refused above.
    const accessEpoch = this.#dependencies.epochs.of(context, guard, email!, password as string);
    return { email: email!, passwordHash, accessEpoch, attributes };
  }

  /**
   * The account of this visitor, if the registration has arrived before, because of a double click or a lost response.
   * Nothing is stored or mailed again.
   *
   * Security: its epoch proves that this visitor has registered it, with this password. Someone with a copy of the
   * earlier session could try passwords this way, so it counts as a guess at the account, and stops working ten minutes
   * after the registration. After that, no password is compared, so neither the response nor its timing depends on the
   * password. Once the first response has arrived, the session has changed, and the visitor is logged in; from then on,
   * the password is checked as in any form that asks for it, within the same limit.
   *
   * @throws `E_TOO_MANY_REQUESTS` if the account allows no more guesses
   */
  async #registeredBefore(context: HttpContext, account: NewAccount, password: unknown): Promise<AccountUser | null> {
    const { users, verification } = this.#dependencies;
    const { auth } = context;
    const guard = auth.guardName;
    const owner = await users.of(guard).findByEmail(account.email);
    if (owner === null || !isRecent(owner)) return null;
    const user = (await auth.user()) as AccountUser | null;
    const isOwn = user !== null && String(user.authId()) === String(owner.authId());
    const proves = isOwn
      ? await provesOwnPassword(context, guard, owner, password)
      : await provesRegistration(context, guard, owner, account);
    if (!proves) return null;
    verification.wasSent(owner);
    return owner;
  }

  /**
   * Does everything that depends on whether the address is taken, after the response, and reports the result by mail.
   */
  async #registerLater(context: HttpContext, account: NewAccount): Promise<void> {
    const { owners, mails, verification } = this.#dependencies;
    const guard = context.auth.guardName;
    const mailer = await mails.prepare();
    const { user, taken } = await this.#store(guard, account, async (made) => {
      announce(context, "auth.registered", guard, { user: made });
      if (isVerifiable(made)) await verification.mail(made, mailer, context.request);
    });
    if (taken === EMAIL) {
      const owner = await this.#dependencies.users.of(guard).findByEmail(account.email);
      // This registration arrived again, or another process stored it before it died.
      if (owner !== null && areOfOneRegistration(accessEpochOf(owner), account.accessEpoch)) {
        if (awaitsVerification(owner) && !isRecent(owner) && (await owners.mayBeTold(guard, account.email))) {
          await verification.mail(owner, mailer, context.request);
        }
        return;
      }
      return owners.tell(guard, account.email, false, account.attributes);
    }
    if (user === null) throw new PromiseBroken(`The ${taken} is taken, but it is too late to tell the caller.`);
  }

  /**
   * Stores a new account.
   *
   * @param belonging runs in the same transaction
   * @returns the user, or the attribute whose value is taken
   */
  async #store(guard: string, account: NewAccount, belonging: (user: AccountUser) => Promise<void>): Promise<Stored> {
    const { users, addresses } = this.#dependencies;
    const { email } = account;
    if (await addresses.isTaken(guard, email, null)) return { user: null, taken: EMAIL };
    let isMade = false;
    try {
      const user = await users.transaction(guard, async () => {
        const made = await users.of(guard).create(account);
        await addresses.refuseReserved(guard, email, null);
        isMade = true;
        await belonging(made);
        return made;
      });
      return { user, taken: null };
    } catch (error) {
      // Errors of the registration's further work don't reveal its values.
      if (isMade) throw error;
      if (error instanceof ReservedAddress) return { user: null, taken: EMAIL };
      // Two parallel registrations may both have found the address free.
      if (!(error instanceof UniqueViolationError) || error.column === null) throw error;
      return { user: null, taken: error.column };
    }
  }
}

/**
 * Reports whether an account's first epoch comes from a registration. The result depends on the password, so the call
 * counts as a guess, and a wrong password is announced. Nothing is hashed.
 */
async function provesRegistration(
  context: HttpContext,
  guard: string,
  owner: AccountUser,
  { accessEpoch }: NewAccount,
): Promise<boolean> {
  await countGuess(context, { guard, user: owner, identifier: null });
  if (areOfOneRegistration(accessEpochOf(owner), accessEpoch)) {
    await context.auth.throttle?.giveBack(context, ACCOUNT_LIMIT);
    return true;
  }
  announce(context, "auth.failed", guard, { user: owner, identifier: null, by: PASSWORD });
  return false;
}

/**
 * Reports whether an account is new enough to belong to a repeated registration. Its first epoch says when it was
 * registered. In a table without epochs, the column `created_at` does; an account with neither counts as old.
 */
function isRecent(owner: AccountUser): boolean {
  const { created_at } = owner;
  const time = registeredAt(accessEpochOf(owner)) ?? (created_at instanceof Date ? created_at.getTime() : null);
  // A time in the future doesn't count either, because a wrong clock must not keep this open for long.
  return time !== null && Math.abs(now() - time) <= REPEATED_WITHIN_MS;
}

/**
 * Normalizes a user's identifier, if it isn't the address, for lookups, and returns what is wrong with it. Users could
 * never log in to an account with another form.
 */
function normalizeIdentifierIn(attributes: Record<string, unknown>, store: AccountStore): FieldErrors {
  const name = store.identifierColumn;
  const given = attributes[name];
  if (name === EMAIL || typeof given !== "string") return {};
  const normalized = isAddress(store, given) ? null : normalizeIdentifier(store, given);
  attributes[name] = normalized;
  return normalized === null ? { [name]: [message("auth.identifier.invalid")] } : {};
}

/**
 * Reads the address, and the values for other columns that may be set.
 *
 * @returns the normalized address, or `null` if it is invalid, and the problem
 */
function readAttributes(store: AccountStore, address: unknown, rest: Readonly<Record<string, unknown>>) {
  const isSet = (name: string) => !TIMES.includes(name) && store.attributeKind(name) !== null;
  const attributes = Object.fromEntries(Object.entries(rest).filter(([name]) => isSet(name)));
  const errors = { ...problemsOf(attributes, store), ...normalizeIdentifierIn(attributes, store) };
  const { problem, value = null } = checkEmail(address);
  if (problem !== undefined) errors.email = [problem];
  return { email: value, attributes, errors };
}

/** A text column must not get a list, because each database converts it differently. */
function problemsOf(attributes: NewAccount["attributes"], store: AccountStore): FieldErrors {
  const errors: FieldErrors = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "name") {
      const { problem } = checkName(value);
      if (problem !== undefined) errors.name = [problem];
    } else if ((Array.isArray(value) || isPlainObject(value)) && store.attributeKind(name) !== "json") {
      errors[name] = [message("auth.input.text")];
    }
  }
  return errors;
}
