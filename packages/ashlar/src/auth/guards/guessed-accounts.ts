import type { HttpContext } from "../../http/index.ts";
import type { CountedDevice } from "../../throttle/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import type { RememberedAccount } from "../logins/known-devices.ts";
import { AccountHashes } from "../passwords/account-hashes.ts";
import { accountName, identifierOf, identifiersOf } from "../passwords/identifiers.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { GuardRegistry } from "./guard-registry.ts";
import { RefusedGuesses } from "./guesses.ts";

/** The account that a password is compared with. */
export interface GuessedAccount {
  /** A text that names it by the identifier that was sent, or else by its user's own. */
  readonly name: string;
  /** An identifier of the device that the password comes from, if the account is used on it; otherwise `null`. */
  readonly device: string | null;
  /** Whether the account was used on the device before access to it last ended, and not since. */
  readonly isFormerDevice: boolean;
}

/** Finds out on which devices an account was used before. */
export interface DeviceLookup {
  /** Reports whether a host has the same data about a device as the host of `APP_URL`. */
  sharesDevices(host: string): boolean;
  /** A request's device, if an account, named as by `accountName`, was used on it; otherwise `null`. */
  deviceOf(context: HttpContext, account: string): CountedDevice | null;
  /** An identifier of a request's device, if an account was used on it since access last ended; otherwise `null`. */
  currentDeviceOf(context: HttpContext, account: RememberedAccount): string | null;
}

/** Makes the device of a request known to an account, with the proof of its mailbox, or `null`. */
type AllowDevice = (context: HttpContext, guard: string, user: Authenticatable, proof: string | null) => void;

/** Notifies the owners of accounts about guesses. */
export interface GuessWarnings {
  /**
   * Reports whether a mail to the owner of one of a guard's accounts has a link that lets a device in at the running
   * code's host.
   */
  hasLinkHere(guard: string): boolean;
  /**
   * Promises a mail to the owner of an account, and as much work for one that does not exist. Called with each refusal, it
   * does so only now and then.
   *
   * @param account the account's name, whether or not there is one
   * @returns `false` if it could not be promised: the next call tries again
   */
  promise(context: HttpContext, guard: string, user: Authenticatable | null, account: string): Promise<boolean>;
}

/**
 * The accounts of guards as passwords are guessed at them: what each is counted as, and what this process and the browsers know of
 * guesses.
 */
export class GuessedAccounts {
  readonly #registry: Pick<GuardRegistry, "modelOf" | "realmOf">;
  /** The passwords that are being hashed, by account. */
  readonly hashes: AccountHashes = new AccountHashes();
  /** The accounts whose guesses were just refused. */
  readonly refused: RefusedGuesses = new RefusedGuesses();
  /** The data about accounts in requests' browsers; `null` if no guard has browsers. */
  devices: DeviceLookup | null = null;
  /**
   * Makes the device of a request known to an account whose mailbox the request has proved.
   *
   * @param proof what has proved it, if all that it makes known is to be one device; `null`: each is another one
   */
  allowDevice: AllowDevice = () => {};
  /** Notifies the owners of accounts that unknown devices have used up their guesses; `null` if nothing does. */
  warnings: GuessWarnings | null = null;

  /** @param registry knows the users of each guard */
  constructor(registry: Pick<GuardRegistry, "modelOf" | "realmOf">) {
    this.#registry = registry;
  }

  /**
   * The key under which guesses at an account are counted. It has the name of the identifier that was sent, whether or
   * not there is an account: a name by the primary key would change with a registration, and so reveal it.
   *
   * @returns `null` if no account can have the identifier
   */
  of(
    context: HttpContext,
    guard: string,
    user: Authenticatable | null,
    identifier: string | null,
  ): GuessedAccount | null {
    const realm = this.#registry.realmOf(guard);
    const model = this.#registry.modelOf(guard);
    const counted = identifier ?? (user === null || model === null ? null : identifierOf(user, model));
    if (counted === null) return null;
    const name = accountName(realm, counted);
    const account = user === null ? null : this.remembered(guard, user);
    const device = account === null ? null : (this.devices?.currentDeviceOf(context, account) ?? null);
    const isKnown = this.devices !== null && this.devices.deviceOf(context, name) !== null;
    return { name, device, isFormerDevice: device === null && isKnown };
  }

  /** A user's account, as devices remember it: by whatever its user logs in with. `null` if no guard has this name. */
  remembered(guard: string, user: Authenticatable): RememberedAccount | null {
    const model = this.#registry.modelOf(guard);
    if (model === null) return null;
    const realm = this.#registry.realmOf(guard);
    const names = identifiersOf(user, model).map((identifier) => accountName(realm, identifier));
    return { names, epoch: accessEpochOf(user) };
  }
}
