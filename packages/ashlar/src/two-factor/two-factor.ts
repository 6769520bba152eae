import { type Authenticatable, asAuthenticatable, queueAccountMail } from "../auth/index.ts";
import type { Authenticators, SecondFactor } from "../authenticators/index.ts";
import type { Application } from "../boot/index.ts";
import type { EventMap } from "../events/index.ts";
import { currentDate, now, type RegisteredUser } from "../support/index.ts";
import type {} from "./events.ts";
import { RECOVERY_CODE, RecoveryCodes } from "./factors/recovery-codes.ts";
import { Totp } from "./factors/totp.ts";
import { TrustedDevices } from "./factors/trusted-devices.ts";
import { type CompleteTwoFactorSettings, readTwoFactorSettings } from "./settings.ts";
import { isFew, type TwoFactorChangedData } from "./two-factor-mail.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The second factors of users. */
    twoFactor: TwoFactorService;
  }
}

/** When a user who needs a second factor first logged in without one. */
export const GRACE = "two_factor_grace";
const DAY_MS = 24 * 60 * 60_000;

type NamedFactor = Authenticators["factors"][number];
type TwoFactorEventName = keyof EventMap & `two_factor.${string}`;
type Details<Name extends TwoFactorEventName> = Omit<EventMap[Name], "time" | "address" | "guard" | "user">;

/** Where a change comes from. */
export interface ChangePlace {
  /** The guard of the user. */
  readonly guard: string;
  /** The client's address; `null` outside of a request. */
  readonly address: string | null;
}

/** The second factors of an application's users: who has one, who needs one, and what happens when they change. */
export class TwoFactorService {
  readonly totp: Totp;
  readonly recoveryCodes: RecoveryCodes;
  readonly devices: TrustedDevices;
  readonly settings: CompleteTwoFactorSettings;
  readonly #application: Application;

  /** @throws `E_INVALID_CONFIGURATION` */
  constructor(application: Application) {
    const { config, container, settings } = application;
    this.settings = readTwoFactorSettings(config.optionalSection("two-factor", ["TWO_FACTOR"]).TWO_FACTOR);
    this.#application = application;
    const authenticators = container.make("authenticators");
    this.totp = new Totp(authenticators, { key: settings.key, previousKeys: settings.previousKeys });
    this.recoveryCodes = new RecoveryCodes(authenticators);
    const isHttps = settings.url?.startsWith("https:") === true;
    const cookie = `${isHttps ? "__Host-" : ""}trusted_device${settings.cookieSuffix}`;
    this.devices = new TrustedDevices(authenticators, { days: this.settings.trustDays, cookie });
  }

  get issuer(): string {
    return this.settings.issuer ?? this.#application.settings.name;
  }

  /** The second factors of all features. */
  get factors(): readonly NamedFactor[] {
    return this.#authenticators.factors;
  }

  /** Reports whether a login of a user is asked for a second factor. */
  async isAsked(user: RegisteredUser): Promise<boolean> {
    if (await this.#hasAny(user, ({ isRequired }) => isRequired === true)) return true;
    return (await this.needs(user)) && (await this.has(user));
  }

  /** Reports whether a user has a second factor. Recovery codes alone don't count, because they are used up. */
  has(user: RegisteredUser): Promise<boolean> {
    return this.#hasAny(user, ({ name }) => name !== RECOVERY_CODE);
  }

  /** Reports whether a user has a second factor of another kind. */
  hasBesides(user: RegisteredUser, kind: string): Promise<boolean> {
    return this.#hasAny(user, ({ name }) => name !== kind && name !== RECOVERY_CODE);
  }

  /** Reports whether a user needs a second factor, by the settings. */
  async needs(user: RegisteredUser): Promise<boolean> {
    const { required } = this.settings;
    return typeof required === "boolean" ? required : (await required(user)) === true;
  }

  /** Reports whether a user needs a second factor, and has none. */
  async lacks(user: RegisteredUser): Promise<boolean> {
    return (await this.needs(user)) && !(await this.has(user));
  }

  /**
   * Reports whether a user who lacks a second factor may still do without.
   *
   * @param isReadOnly whether the days must not begin now
   */
  async isInGrace(user: RegisteredUser, isReadOnly = false): Promise<boolean> {
    const { graceDays } = this.settings;
    if (graceDays === 0) return false;
    const owner = asAuthenticatable(user);
    const table = this.#authenticators.tableOf(GRACE, owner);
    const began = (await table.list(owner)).at(-1)?.created_at;
    if (began !== undefined) return now() < began.getTime() + graceDays * DAY_MS;
    if (!isReadOnly) await table.insert(owner, { name: null, data: null, counter: 0, handle: null });
    return true;
  }

  /** A text that names a user, the same for all guards with the same users. */
  ownerOf(user: object): string {
    return this.#authenticators.ownerOf(user);
  }

  /** Removes the app, the recovery codes and the trusted devices of a user. Returns whether there was an app. */
  async removeAll(user: Authenticatable): Promise<boolean> {
    const hadApp = await this.totp.remove(user);
    await this.recoveryCodes.removeAll(user);
    await this.devices.endAll(user);
    return hadApp;
  }

  /**
   * Removes the second factors of all features, for a user who has lost them. A user without a password keeps those that
   * log in by themselves, such as passkeys.
   *
   * @returns whether there was one
   */
  async reset(user: Authenticatable): Promise<boolean> {
    let hadAny = await this.has(user as object as RegisteredUser);
    await this.removeAll(user);
    if (user.passwordHash() === null) return hadAny;
    for (const { name } of this.factors) {
      const removed = await this.#authenticators.tableOf(name, user).deleteAll(user.authId());
      hadAny ||= removed > 0;
    }
    return hadAny;
  }

  /** Announces a change, and mails the owner about it. */
  async changed<Name extends TwoFactorEventName>(
    place: ChangePlace,
    user: RegisteredUser,
    event: Name,
    details: Details<Name>,
    change: Pick<TwoFactorChangedData, "change"> & Partial<Pick<TwoFactorChangedData, "left">>,
  ): Promise<void> {
    this.announce(place, user, event, details);
    await this.mail(place.guard, user, change);
  }

  /** Notifies the listeners of an event, without waiting for them. */
  announce<Name extends TwoFactorEventName>(
    { guard, address }: ChangePlace,
    user: RegisteredUser,
    event: Name,
    details: Details<Name>,
  ): void {
    const { container } = this.#application;
    if (!container.has("events")) return;
    const payload = { time: currentDate(), address, guard, user, ...details } as object as EventMap[Name];
    void container.make("events").emit(event, payload);
  }

  /** Queues the mail about a change, if the application sends mails and the user has an address. */
  async mail(
    guard: string,
    user: RegisteredUser,
    { change, left = null }: Pick<TwoFactorChangedData, "change"> & Partial<Pick<TwoFactorChangedData, "left">>,
  ): Promise<void> {
    const { container, logger } = this.#application;
    const { email } = user as { readonly email?: unknown };
    if (!container.has("mail") || !container.has("accounts") || typeof email !== "string") return;
    const data = { user, guard, email, change, changedAt: currentDate(), left, isFew: isFew(left) };
    try {
      await queueAccountMail(this.#application, "twoFactorChanged", email, data);
    } catch (error) {
      // The change has taken effect, whether or not its owner learns of it.
      logger.error({ err: error, mail: "twoFactorChanged" }, "A mail about an account could not be queued.");
    }
  }

  async #hasAny(user: RegisteredUser, isMeant: (factor: NamedFactor) => boolean): Promise<boolean> {
    for (const factor of this.factors) if (isMeant(factor) && (await factor.has(user))) return true;
    return false;
  }

  get #authenticators(): Authenticators {
    return this.#application.container.make("authenticators");
  }
}

/** A factor for users of any class: it gets users of the application. */
export function factorOf(factor: SecondFactor<Authenticatable>): SecondFactor {
  return factor as object as SecondFactor;
}
