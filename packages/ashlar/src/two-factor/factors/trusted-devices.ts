import { Auth, type Authenticatable } from "../../auth/index.ts";
import type { Authenticators } from "../../authenticators/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { currentDate, now } from "../../support/index.ts";

export const TRUSTED_DEVICE = "trusted_device";
const DAY_SECONDS = 24 * 60 * 60;
const DAY_MS = DAY_SECONDS * 1000;
/** How many a user has at most; the oldest end. */
const MAX_DEVICES = 20;
const MAX_NAME_LENGTH = 100;

/** A device whose logins don't ask for a code. */
export interface TrustedDevice {
  readonly id: string;
  /** A name for the device: `Firefox on Windows`. */
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date;
}

/** The settings of {@link TrustedDevices}. */
export interface TrustedDevicesOptions {
  /** For how many days; `null`: no device is trusted. */
  readonly days: number | null;
  readonly cookie: string;
}

/**
 * The devices that users trust: for a number of days, a login there doesn't ask for a code. The browser has a random token, the
 * table its digest. All of a user's devices end with access to the account.
 *
 * Security: it only makes a login skip the step. It proves nothing, so it isn't among the proofs of the login.
 */
export class TrustedDevices {
  readonly #authenticators: Authenticators;
  readonly #options: TrustedDevicesOptions;

  constructor(authenticators: Authenticators, options: TrustedDevicesOptions) {
    this.#authenticators = authenticators;
    this.#options = options;
  }

  get days(): number | null {
    return this.#options.days;
  }

  /** Reports whether a request comes from a device that a user trusts. */
  async isTrusted({ request }: HttpContext, user: Authenticatable): Promise<boolean> {
    const { cookie, days } = this.#options;
    const token = days === null ? null : request.cookie(cookie);
    if (token === null) return false;
    const table = this.#tableOf(user);
    const found = await table.findActive("handle", digest(token));
    if (found === null || String(found.user.authId()) !== String(user.authId())) return false;
    await table.touch(found.credential.id);
    return true;
  }

  /** Makes the device of a request one that a user trusts, if users may trust devices. */
  async trust({ request, response, t }: HttpContext, user: Authenticatable): Promise<boolean> {
    const { cookie, days } = this.#options;
    if (days === null) return false;
    const token = randomToken();
    const name = Auth.deviceName(request.userAgent(), t).slice(0, MAX_NAME_LENGTH);
    const expires_at = new Date(now() + days * DAY_MS);
    const values = { name, data: null, counter: 0, handle: digest(token), expires_at };
    const table = this.#tableOf(user);
    if ((await table.insert(user, values)) === null) return false;
    await table.deleteOldest(user.authId(), MAX_DEVICES);
    response.cookie(cookie, token, { maxAgeSeconds: days * DAY_SECONDS, sameSite: "lax" });
    return true;
  }

  /** The devices that a user trusts, newest first. */
  async list(user: Authenticatable): Promise<readonly TrustedDevice[]> {
    if (this.#options.days === null) return [];
    const own = await this.#tableOf(user).list(user);
    return own.map(({ id, name, created_at, last_used_at, expires_at }) => {
      return {
        id,
        name: name ?? "",
        createdAt: created_at,
        lastUsedAt: last_used_at,
        expiresAt: expires_at ?? currentDate(),
      };
    });
  }

  /** Ends one. Returns whether it was the user's. */
  end(user: Authenticatable, id: string): Promise<boolean> {
    return this.#tableOf(user).delete({ id, user_id: user.authId() });
  }

  async endAll(user: Authenticatable): Promise<void> {
    await this.#tableOf(user).deleteAll(user.authId());
  }

  #tableOf(user: Authenticatable) {
    return this.#authenticators.tableOf(TRUSTED_DEVICE, user);
  }
}
