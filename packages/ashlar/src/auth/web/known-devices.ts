import type { HttpContext } from "../../http/index.ts";
import { digest, Sealer } from "../../security/index.ts";
import type { UserId } from "../authenticatable.ts";

/** Browsers keep no cookie for longer (RFC 6265bis §5.5). */
const MAX_AGE_SECONDS = 400 * 24 * 60 * 60;
/** How many users one browser is known for. */
const MAX_USERS = 8;
const MARK_LENGTH = 22;

/**
 * Knows the devices that users have logged in on, by a sealed cookie which outlasts the logins: it proves nothing but
 * that somebody who could log in has done so in this browser before.
 */
export class KnownDevices {
  readonly #sealer: Sealer;
  readonly #cookie: string;

  /**
   * @param secret the application's key
   * @param isHttps whether the application's URL is https
   */
  constructor(secret: string, isHttps: boolean) {
    this.#sealer = new Sealer(secret, "cookie");
    this.#cookie = isHttps ? "__Host-device" : "device";
  }

  /**
   * Remembers that a user logs in on the device that a request comes from.
   *
   * @returns whether the user is known to have done so before
   */
  remember(context: HttpContext, guard: string, userId: UserId): boolean {
    const mark = digest(`${guard}\0${userId}`).slice(0, MARK_LENGTH);
    const marks = this.#read(context);
    const kept = [mark, ...marks.filter((one) => one !== mark)].slice(0, MAX_USERS);
    const sealed = this.#sealer.seal(this.#cookie, kept.join(","));
    context.response.cookie(this.#cookie, sealed, { maxAgeSeconds: MAX_AGE_SECONDS });
    return marks.includes(mark);
  }

  #read({ request }: HttpContext): string[] {
    const sealed = request.cookie(this.#cookie);
    const opened = sealed === null ? null : this.#sealer.open(this.#cookie, sealed, MAX_AGE_SECONDS);
    return opened === null ? [] : opened.split(",");
  }
}
