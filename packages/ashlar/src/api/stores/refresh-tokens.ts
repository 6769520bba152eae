import { declareKeyPurpose, digest, type KeyPurpose, randomToken, Signer } from "../../security/index.ts";
import type { TokenVersion } from "../settings/driver-settings.ts";
import type { RefusedToken, TokenAuthentication } from "../verifier.ts";

export const REFRESH_TOKEN: KeyPurpose = declareKeyPurpose("ashlar-refresh-token");
export const SUCCESSOR: KeyPurpose = declareKeyPurpose("ashlar-refresh-token-successor");
const FAMILY_BYTES = 16;

/** The contents of a refresh token that this application issued. It may have been replaced since. */
export interface RefreshClaim {
  /** The primary key of its user. */
  readonly userId: string;
  /** The id of its row, which stays the same for all tokens that replace it. */
  readonly family: string;
  /** The data in its access tokens about the original login; default: none. */
  readonly authentication?: TokenAuthentication | null;
}

/** The signed data. */
type Signed = [
  guard: string,
  version: TokenVersion | null,
  userId: string,
  family: string,
  secret: string,
  authentication?: TokenAuthentication,
];

/** Signs refresh tokens and derives their successors with one of the application's keys. */
interface Maker {
  readonly signer: Signer;
  readonly successors: Signer;
}

/**
 * Creates and reads the refresh tokens of one driver: signed values with a random secret. The signature distinguishes a
 * token that was replaced long ago from a made-up one.
 *
 * The secret of a successor is derived from the token that it replaces and the application's key. Requests that present the
 * same token derive the same successor, whatever process they reach, and only digests are stored.
 */
export class RefreshTokens {
  readonly #guard: string;
  readonly #version: TokenVersion | null;
  /** One signer for each key, with the current one first. */
  readonly #makers: readonly [Maker, ...Maker[]];

  /** @param secrets the application's key, followed by former ones */
  constructor(guard: string, version: TokenVersion | null, secrets: readonly string[]) {
    this.#guard = guard;
    this.#version = version;
    this.#makers = secrets.map((secret) => {
      return { signer: new Signer(secret, REFRESH_TOKEN), successors: new Signer(secret, SUCCESSOR) };
    }) as [Maker, ...Maker[]];
  }

  /** Creates the id of a family: 128 random bits. */
  makeFamily(): string {
    return randomToken(FAMILY_BYTES);
  }

  /** Creates the first token of a family. */
  first(claim: RefreshClaim): string {
    return this.#sign(this.#makers[0], claim, randomToken());
  }

  /** Reads a token sent by a client, or returns why it is refused. */
  read(token: string): RefreshClaim | RefusedToken {
    const value = this.#makers.map(({ signer }) => signer.verify(token)).find((one) => one !== null);
    if (value === undefined) return { failure: "signature", userId: null };
    const [guard, version, userId, family, , authentication = null] = JSON.parse(value) as Signed;
    // One driver's user keys have no meaning for another driver.
    if (guard !== this.#guard) return { failure: "audience", userId: null };
    return version === this.#version ? { userId, family, authentication } : { failure: "version", userId };
  }

  /** Returns the token that replaces another one. */
  successor(token: string, claim: RefreshClaim): string {
    return this.#successorBy(this.#makers[0], token, claim);
  }

  /**
   * The last of the tokens that have replaced one another, beginning with this one.
   *
   * @param replaced the digests of the tokens on the way
   * @param current the digest of the last one
   * @returns `null` if one of them was derived with a key that is no longer known
   */
  last(token: string, claim: RefreshClaim, replaced: readonly string[], current: string): string | null {
    for (const maker of this.#makers) {
      const next = this.#successorBy(maker, token, claim);
      const own = digest(next);
      if (own === current) return next;
      if (replaced.includes(own)) return this.last(next, claim, replaced, current);
    }
    return null;
  }

  #successorBy(maker: Maker, token: string, claim: RefreshClaim): string {
    const signed = maker.successors.sign(digest(token));
    return this.#sign(maker, claim, signed.slice(signed.lastIndexOf(".") + 1));
  }

  #sign({ signer }: Maker, { userId, family, authentication = null }: RefreshClaim, secret: string): string {
    const value: Signed = [this.#guard, this.#version, userId, family, secret];
    return signer.sign(JSON.stringify(authentication === null ? value : [...value, authentication]));
  }
}
