import {
  type CookieSite,
  domainFor,
  type HttpContext,
  type HttpRequest,
  isWithin,
  ownCookieName,
} from "../../http/index.ts";
import { inEnglish } from "../../messages/index.ts";
import { digest, KeyPurpose, type RotationOptions, randomToken, Signer } from "../../security/index.ts";
import type { Message } from "../../support/index.ts";
import type { CountedDevice } from "../../throttle/index.ts";
import { message } from "../messages.ts";
import type { UserId } from "../users/authenticatable.ts";
import type { LoginUse } from "./login-store.ts";

export const DEVICE: KeyPurpose = new KeyPurpose("device");
/** Browsers keep no cookie for longer (RFC 6265bis §5.5). */
const MAX_AGE_SECONDS = 400 * 24 * 60 * 60;
/** How many names of its users a browser remembers. */
const MAX_USERS = 8;
/** Has too many bits to be guessed. The cookie is signed, and reveals nothing about accounts without the key. */
const MARK_LENGTH = 11;
const DEVICE_BYTES = 16;
/** The prefix of an entry created by a link. Other entries begin with a user's digest instead. */
const PASS = "~";
const SIGNATURE = { expiresInSeconds: MAX_AGE_SECONDS } as const;

/** A user of a device, as stored in its cookie. */
interface KnownUser {
  /** The digest of the guard and the primary key; for a device that a link has made known, a random text. */
  readonly user: string;
  /** The digest of the account, as used to count attempts. */
  readonly account: string;
  /** The digest of the user's access epoch; `null` in cookies of earlier versions. */
  readonly epoch: string | null;
}

/** A user's account, as a device remembers it. */
export interface RememberedAccount {
  /** The names under which attempts at it are counted. */
  readonly names: readonly string[];
  /** The access epoch of its user. */
  readonly epoch: string;
}

interface Device {
  /** Random and permanent; `null` if the device is not known. */
  readonly id: string | null;
  readonly users: readonly KnownUser[];
}

const UNKNOWN: Device = { id: null, users: [] };

/** Options of {@link KnownDevices}. */
export interface KnownDevicesOptions extends RotationOptions {
  /** Which requests from other sites carry the cookie; default: `lax`. */
  readonly sameSite?: "lax" | "none";
}

/**
 * Recognizes the devices that users have logged in on, by a signed cookie that outlasts the logins. It proves only that
 * a user who was able to log in has done so in this browser before. It contains digests, and no confidential data.
 */
export class KnownDevices {
  readonly #signer: Signer;
  /** One for the present key, and one for each previous key: the digests in a cookie depend on the key it was written with. */
  readonly #keyed: readonly Signer[];
  readonly #site: CookieSite;
  #domain: string | null = null;
  readonly #sameSite: "lax" | "none";

  /**
   * @param secret the application's key
   * @param site the settings that the cookie's name depends on
   * @param options the previous keys: a cookie signed with one of them is still accepted, and is signed again at the
   * next login
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, site: CookieSite, options: KnownDevicesOptions = {}) {
    this.#signer = new Signer(secret, DEVICE, options);
    this.#keyed = [secret, ...(options.previousSecrets ?? [])].map((key) => new Signer(key, DEVICE));
    this.#sameSite = options.sameSite ?? "lax";
    this.#site = site;
  }

  /**
   * Makes the hosts of a domain share the data about a device, as they share its logins. If there are several domains,
   * the widest one applies.
   */
  share(domain: string): void {
    if (this.#domain === null || domain.length < this.#domain.length) this.#domain = domain;
  }

  /** Reports whether a host shares it. */
  isSharedWith(host: string): boolean {
    return this.#domain !== null && isWithin(host, this.#domain);
  }

  /**
   * Records that a user logs in on the device that a request comes from.
   *
   * @returns whether the user is known to have done so before
   */
  remember(context: HttpContext, guard: string, userId: UserId, account: RememberedAccount): boolean {
    const device = this.#read(context);
    const user = userMark(guard, userId);
    const own = this.#entries(user, account);
    const others = device.users.filter((one) => one.user !== user && !isOutdatedPass(one, own));
    this.#write(context, device.id, [...own, ...others]);
    return device.users.some((one) => one.user === user);
  }

  /** Records the new access epoch of a user, if the device that a request comes from knows the user. */
  renew(context: HttpContext, guard: string, userId: UserId, account: RememberedAccount): void {
    const user = userMark(guard, userId);
    if (this.#read(context).users.some((one) => one.user === user)) this.remember(context, guard, userId, account);
  }

  /**
   * The device that a request comes from, if an account is known to have been logged in to on it, or {@link allow} has let
   * it in. However often the user logs in, it is the same one until access to the account ends: then a copy of the cookie from
   * before counts as another device, in another group. Devices that a link has let in are a separate group.
   *
   * Security: it depends on the request alone. It does not reveal whether the account exists.
   */
  deviceOf(context: HttpContext, account: string): CountedDevice | null {
    const { id, users } = this.#read(context);
    const marks = this.#marksOf(account);
    const known = users.filter((one) => marks.includes(one.account));
    const pass = known.find(isPass);
    if (pass !== undefined) return { id: pass.user, group: pass.user };
    const [one] = known;
    return one === undefined ? null : { id: `${id} ${one.epoch ?? ""}`, group: one.epoch ?? "" };
  }

  /**
   * An identifier of the device that a request comes from, if an account was used on it under its present access epoch:
   * the one from {@link allow}, or else the device's own. `null` if it was not, or only before.
   */
  currentOf(context: HttpContext, { names, epoch }: RememberedAccount): string | null {
    const { id, users } = this.#read(context);
    const [marks, current] = [names.flatMap((name) => this.#marksOf(name)), this.#marksOf(epoch)];
    const known = users.filter(
      (one) => marks.includes(one.account) && one.epoch !== null && current.includes(one.epoch),
    );
    const [one] = known;
    if (one === undefined) return null;
    // Includes the epoch, so that attempts made with a copy of the cookie before that epoch no longer count.
    return known.find(isPass)?.user ?? `${id} ${one.epoch}`;
  }

  /**
   * Makes the device that a request comes from known to an account without a login, because its owner has proved to read
   * the account's mails. A login there is still one on a new device.
   *
   * @param proof the proof, if all devices that it makes known count as one; default: each is separate
   */
  allow(context: HttpContext, account: RememberedAccount, proof: string | null = null): void {
    const device = this.#read(context);
    const mark = proof === null ? randomToken(DEVICE_BYTES).slice(0, MARK_LENGTH) : this.#marksOf(proof)[0]!;
    const own = this.#entries(`${PASS}${mark}`, account);
    const isReplaced = (one: KnownUser) => isPass(one) && own.some((other) => other.account === one.account);
    this.#write(context, device.id, [...own, ...device.users.filter((one) => !isReplaced(one))]);
  }

  /** Reports whether any user is known to have logged in on the device that a request comes from. */
  isKnown(context: HttpContext): boolean {
    return this.#read(context).id !== null;
  }

  #entries(user: string, { names, epoch }: RememberedAccount): KnownUser[] {
    const mark = this.#marksOf(epoch)[0]!;
    return names.map((name) => ({ user, account: this.#marksOf(name)[0]!, epoch: mark }));
  }

  /**
   * The digests of a text under each key, the current one first. They are keyed, so that the cookie can't be used to
   * check guesses about who has used the device.
   */
  #marksOf(text: string): readonly string[] {
    const hashed = digest(text);
    return this.#keyed.map((signer) => {
      const signed = signer.sign(hashed);
      return signed.slice(signed.indexOf(".") + 1).slice(0, MARK_LENGTH);
    });
  }

  #write(context: HttpContext, id: string | null, users: readonly KnownUser[]): void {
    const some = users.slice(0, MAX_USERS);
    const list = some.map(({ user, account, epoch }) => [user, account, ...(epoch === null ? [] : [epoch])].join(":"));
    const signed = this.#signer.sign(`${id ?? randomToken(DEVICE_BYTES)};${list.join(",")}`, SIGNATURE);
    const [domain, sameSite] = [this.#domain, this.#sameSite];
    const { name, former } = this.#cookie;
    const { request, response } = context;
    response.cookie(name, signed, { maxAgeSeconds: MAX_AGE_SECONDS, sameSite, ...domainFor(context, domain) });
    if (former !== null && request.cookie(former) !== null) response.withoutCookie(former, { sameSite });
  }

  /** The name of the cookie, and its name from before the hosts of a domain shared it. */
  get #cookie(): { readonly name: string; readonly former: string | null } {
    const own = ownCookieName("device", this.#site);
    if (this.#domain === null) return { name: own, former: null };
    return { name: ownCookieName("device", this.#site, this.#domain), former: own };
  }

  #read({ request }: HttpContext): Device {
    const { name, former } = this.#cookie;
    const signed = request.cookie(name) ?? (former === null ? null : request.cookie(former));
    const value = signed === null ? null : this.#signer.verify(signed);
    if (value === null) return UNKNOWN;
    const [id, list] = value.split(";") as [string, string];
    const users = list.split(",").map((entry) => {
      const [user, account, epoch = null] = entry.split(":") as [string, string, string?];
      return { user, account, epoch };
    });
    return { id, users };
  }
}

function userMark(guard: string, userId: UserId): string {
  return digest(`${guard}\0${userId}`).slice(0, MARK_LENGTH);
}

/** Reports whether an entry was created by a link, for an account before access to it last ended. */
function isOutdatedPass(one: KnownUser, own: readonly KnownUser[]): boolean {
  return isPass(one) && own.some(({ account, epoch }) => account === one.account && epoch !== one.epoch);
}

function isPass({ user }: KnownUser): boolean {
  return user.startsWith(PASS);
}

/** The first match counts, because most browsers also claim to be the browsers they descend from. */
const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgi?A?(?:OS)?\//, "Edge"],
  [/\bOPR\/|\bOPT\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\bChrome\/|\bCriOS\/|\bChromium\//, "Chrome"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bWindows\b/, "Windows"],
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMacintosh\b|\bMac OS X\b/, "macOS"],
  [/\bLinux\b|\bX11\b/, "Linux"],
];

/**
 * A name for the device that a user agent runs on, for people to recognize: `Firefox on Windows`.
 *
 * It is the client's own claim, and only good for display.
 *
 * @param userAgent the header `User-Agent`, or `null`
 * @param t translates it
 */
export function deviceName(userAgent: string | null, t: (message: Message) => string = inEnglish): string {
  const text = userAgent ?? "";
  const browser = BROWSERS.find(([pattern]) => pattern.test(text))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(text))?.[1];
  if (browser !== undefined && system !== undefined) return t(message("auth.device.named", { browser, system }));
  return browser ?? system ?? t(message("auth.device.unknown"));
}

/** The maximum length of a user agent that is stored, in UTF-16 units. */
const MAX_USER_AGENT_LENGTH = 255;

/** The stored data about a request's device. */
export function deviceOf(request: HttpRequest): Pick<LoginUse, "ip" | "userAgent"> {
  return {
    ip: request.clientAddress,
    userAgent: request.userAgent()?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
  };
}
