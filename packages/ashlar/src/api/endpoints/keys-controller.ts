import type { HttpContext, HttpResponse } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { digest } from "../../security/index.ts";
import { jwks } from "../../security/jwt/index.ts";
import { AshlarError } from "../../support/index.ts";
import { driversOf } from "../drivers/drivers.ts";
import "../../http/index.ts";

/**
 * How long verifiers may cache the keys, in seconds. A staged key has to be published for at least that long before it
 * signs tokens.
 */
const MAX_AGE_SECONDS = 300;
/** The media type of a JWK Set (RFC 7517 §8.5.2). */
const JWK_SET = "application/jwk-set+json";

/** Responds with the public keys with which a driver's tokens can be verified. */
export class KeysController {
  /** The keys' driver; `null` for the first one that issues tokens. */
  static readonly driver: string | null = null;

  /** The response; `null` if the tokens are signed with a secret, which must not be published. */
  readonly #body: string | null;
  readonly #etag: string;

  constructor(container: Container) {
    const { driver } = this.constructor as typeof KeysController;
    const { verificationKeys } = driversOf(container).issuer(driver).settings;
    this.#body = verificationKeys.some(({ isSecret }) => isSecret) ? null : JSON.stringify(jwks(verificationKeys));
    this.#etag = `"${digest(this.#body ?? "")}"`;
  }

  /**
   * Responds with a JWK Set (RFC 7517 §5): the current signing key, the next one, and the former ones.
   *
   * @throws `E_NOT_FOUND` if the tokens are signed with a secret
   */
  show({ request, response }: HttpContext): HttpResponse {
    if (this.#body === null) throw new AshlarError("E_NOT_FOUND");
    response.header("Cache-Control", `public, max-age=${MAX_AGE_SECONDS}`).header("ETag", this.#etag);
    if (isCurrent(request.header("if-none-match"), this.#etag)) return response.status(304);
    return response.header("Content-Type", JWK_SET).text(this.#body);
  }
}

/** Reports whether the client already has this version (RFC 9110 §13.1.2). */
function isCurrent(known: string | null, etag: string): boolean {
  return known?.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag) === true;
}
