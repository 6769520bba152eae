import type { HttpContext } from "../../http/index.ts";
import { digest, type RotationOptions, Signer } from "../../security/index.ts";
import type { UserId } from "../authenticatable.ts";

/** Browsers keep no cookie for longer (RFC 6265bis §5.5). */
const MAX_AGE_SECONDS = 400 * 24 * 60 * 60;
/** How many users one browser is known for. */
const MAX_USERS = 8;
const MARK_LENGTH = 22;
const SIGNATURE = { expiresInSeconds: MAX_AGE_SECONDS } as const;

/**
 * Knows the devices that users have logged in on, by a signed cookie which outlasts the logins: it proves nothing but
 * that somebody who could log in has done so in this browser before. It holds digests, and nothing that must not be read.
 */
export class KnownDevices {
  readonly #signer: Signer;
  readonly #cookie: string;

  /**
   * @param secret the application's key
   * @param isHttps whether the application's URL is https
   * @param options the keys before it: a cookie they signed still counts, and is signed anew at the next login
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, isHttps: boolean, options: RotationOptions = {}) {
    this.#signer = new Signer(secret, "device", options);
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
    const signed = this.#signer.sign(kept.join(","), SIGNATURE);
    context.response.cookie(this.#cookie, signed, { maxAgeSeconds: MAX_AGE_SECONDS });
    return marks.includes(mark);
  }

  #read({ request }: HttpContext): string[] {
    const signed = request.cookie(this.#cookie);
    const marks = signed === null ? null : this.#signer.verify(signed);
    return marks === null ? [] : marks.split(",");
  }
}
