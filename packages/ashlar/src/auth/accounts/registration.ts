import { planOf, UniqueViolationError } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { Background } from "../../kernel/index.ts";
import { type FieldErrors, isPlainObject, ValidationError } from "../../support/index.ts";
import { announce } from "../events.ts";
import { message } from "../messages.ts";
import { checkEmail, checkName, choosePassword, refuse } from "./account-input.ts";
import type { AccountMails } from "./account-mails.ts";
import { type AccountUser, isVerifiable } from "./account-user.ts";
import type { AddressOwners } from "./address-owners.ts";
import type { EnumerationPrevention } from "./enumeration-prevention.ts";
import type { GuardUsers } from "./guard-users.ts";
import { ReservedAddress, type ReservedAddresses, TAKEN } from "./reserved-addresses.ts";

/** What a registration is made of: the address, the password, and values for other columns. */
export interface RegistrationAttributes {
  readonly email: unknown;
  readonly password: unknown;
  /** Must be the same as the password, unless it is left out. */
  readonly password_confirmation?: unknown;
  readonly [column: string]: unknown;
}

const EMAIL = "email";

/** An account is as old as it is, whatever a form says. */
const TIMES: readonly string[] = ["created_at", "updated_at"];

/** What {@link Registration} works with. */
export interface RegistrationParts {
  readonly users: GuardUsers;
  readonly addresses: ReservedAddresses;
  readonly owners: AddressOwners;
  readonly mails: AccountMails;
  readonly background: Background;
  /** Whether answers are alike for addresses that are free and that are taken. */
  readonly preventEnumeration: boolean;
  readonly prevention: EnumerationPrevention;
}

/** Making an account. */
export class Registration {
  readonly #parts: RegistrationParts;

  constructor(parts: RegistrationParts) {
    this.#parts = parts;
  }

  /** See `Accounts.register`. */
  async register(context: HttpContext, attributes: RegistrationAttributes): Promise<AccountUser | null> {
    const { users, owners, mails, background, preventEnumeration } = this.#parts;
    const guard = context.auth.guardName;
    const model = users.of(guard);
    const { email: address, password, password_confirmation: confirmation = password, ...rest } = attributes;
    // Whatever `fillable` says, no one chooses a key: a public form is all that stands before this.
    const isFilled = (name: string) => model.isFillable(name) && name !== model.primaryKey && !TIMES.includes(name);
    const columns = Object.fromEntries(Object.entries(rest).filter(([name]) => isFilled(name)));
    const errors = problemsOf(columns, planOf(model).casts);
    const email = checkEmail(address);
    if (email.problem !== undefined) errors.email = [email.problem];
    const user = new model().fill(columns);
    if (email.problem === undefined) user.email = email.value;
    // Everything else first: whether an address is taken is told to no one who has not made the effort to register it.
    refuse({ ...errors, ...(await choosePassword(user, password, confirmation)) });
    if (preventEnumeration) {
      await this.#registerInBackground(context, user, columns);
      return null;
    }
    const taken = await this.#store(guard, user);
    if (taken === null) {
      announce(context, "auth.registered", guard, { user });
      return user;
    }
    if (taken === EMAIL && mails.areSent) {
      background.run("a notice to the owner of an address", () => owners.tell(guard, user.email, false));
    }
    throw new ValidationError({ [taken]: [taken === EMAIL ? TAKEN : message("auth.value.taken")] });
  }

  /** Leaves to the background, and to mails, what shows whether the address is taken. */
  async #registerInBackground(
    context: HttpContext,
    user: AccountUser,
    columns: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { owners, mails, background, prevention } = this.#parts;
    const guard = context.auth.guardName;
    prevention.requireVerifiable(guard);
    const mailer = await mails.prepare();
    background.run("a registration", async () => {
      const taken = await this.#store(guard, user);
      if (taken === EMAIL) return owners.tell(guard, user.email, false, columns);
      if (taken !== null) throw new Error(`The ${taken} is taken, and the caller can no longer be told.`);
      announce(context, "auth.registered", guard, { user });
      if (isVerifiable(user)) await user.verifyEmail(mailer, context.request);
    });
  }

  /**
   * Stores a new user.
   *
   * @returns the column whose value is taken; `null` if the user is stored
   */
  async #store(guard: string, user: AccountUser): Promise<string | null> {
    const { users, addresses } = this.#parts;
    if (await addresses.isTaken(guard, user.email, null)) return EMAIL;
    try {
      await users.transaction(guard, async () => {
        await user.save();
        await addresses.refuseReserved(guard, user.email, null);
      });
      return null;
    } catch (error) {
      if (error instanceof ReservedAddress) return EMAIL;
      // Of two registrations at the same moment both saw that the address was free.
      if (!(error instanceof UniqueViolationError) || error.column === null) throw error;
      return error.column;
    }
  }
}

/** A column that holds text must not be given a list: what a database makes of one, no two agree on. */
function problemsOf(columns: Readonly<Record<string, unknown>>, casts: ReadonlyMap<string, string>): FieldErrors {
  const errors: FieldErrors = {};
  for (const [name, value] of Object.entries(columns)) {
    if (name === "name") {
      const { problem } = checkName(value);
      if (problem !== undefined) errors.name = [problem];
    } else if ((Array.isArray(value) || isPlainObject(value)) && casts.get(name) !== "json") {
      errors[name] = [message("auth.input.text")];
    }
  }
  return errors;
}
