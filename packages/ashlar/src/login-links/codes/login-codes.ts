import { declareKeyPurpose, digest, digestEquals, type KeyPurpose, randomToken, Signer } from "../../security/index.ts";

/** The purpose that requests for a mail are signed for. */
export const REQUEST_KEY: KeyPurpose = declareKeyPurpose("login-link-request");
/** The purpose that the links in mails are signed for. */
export const LINK_KEY: KeyPurpose = declareKeyPurpose("login-link");
/** The purpose of the key that codes are made with. */
export const CODE_KEY: KeyPurpose = declareKeyPurpose("login-link-code");

/** How long a request, its link and its code can be used. */
export const REQUEST_MINUTES = 15;

const LIFETIME = { expiresInSeconds: REQUEST_MINUTES * 60 };
const ID_BYTES = 16;

/** Letters that can't be mistaken for each other, and form no words (RFC 8628 §6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** What a mail is for: a login, or the confirmation of one. */
export type RequestKind = "login" | "confirm";

/** A request for a mail. */
export interface MailRequest {
  /** Random. */
  readonly id: string;
  readonly kind: RequestKind;
  /** The name of the guard whose user it is about. */
  readonly guard: string;
  /** The address, in its normal form. */
  readonly email: string;
  /** Whether the login is to be remembered. */
  readonly remember: boolean;
}

/** The account that a mail is sent to, as it was then: once the address or the epoch differs, link and code are invalid. */
export interface MailedAccount {
  /** The user's primary key, as text. */
  readonly id: string;
  /** The digest of the user's access epoch. */
  readonly epoch: string;
  /** The account's address, as it is stored. */
  readonly email: string;
}

/** What a link proves. */
export interface LinkClaim {
  readonly request: Pick<MailRequest, "id" | "kind" | "guard">;
  readonly account: MailedAccount;
}

/** Stands for the account of an address without one, so that its codes take the same work. No code belongs to it. */
export const NO_ACCOUNT: MailedAccount = { id: "", epoch: "", email: "" };

/**
 * Makes and reads requests, links and codes. None of them is stored: requests and links are signed, and a code is computed from
 * the request and the account.
 *
 * Security: a code has 34 bits, so callers count the attempts.
 */
export class LoginCodes {
  readonly #requests: Signer;
  readonly #links: Signer;
  /** One for each secret; the current one comes first. */
  readonly #codes: readonly Signer[];

  /**
   * @param previousSecrets the secrets used before: requests, links and codes made with them still work
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, previousSecrets: readonly string[] = []) {
    this.#requests = new Signer(secret, REQUEST_KEY, { previousSecrets });
    this.#links = new Signer(secret, LINK_KEY, { previousSecrets });
    this.#codes = [secret, ...previousSecrets].map((one) => new Signer(one, CODE_KEY));
  }

  /** Makes a request, and the text that its client keeps. */
  request(facts: Omit<MailRequest, "id">): { readonly request: MailRequest; readonly text: string } {
    const request = { id: randomToken(ID_BYTES), ...facts };
    const { id, kind, guard, email, remember } = request;
    return { request, text: this.#requests.sign(JSON.stringify([id, kind, guard, email, remember]), LIFETIME) };
  }

  /** Reads the text of a request; `null` if it was not made here, or has expired. */
  readRequest(text: unknown): MailRequest | null {
    const signed = typeof text === "string" ? this.#requests.verify(text) : null;
    if (signed === null) return null;
    const [id, kind, guard, email, remember] = JSON.parse(signed) as [string, RequestKind, string, string, boolean];
    return { id, kind, guard, email, remember };
  }

  /** Makes the token of a link. */
  link({ request: { id, kind, guard }, account }: LinkClaim): string {
    return this.#links.sign(JSON.stringify([id, kind, guard, account.id, account.epoch, account.email]), LIFETIME);
  }

  /** Reads the token of a link; `null` if it was not made here, or has expired. */
  readLink(token: unknown): LinkClaim | null {
    const signed = typeof token === "string" ? this.#links.verify(token) : null;
    if (signed === null) return null;
    const [id, kind, guard, user, epoch, email] = JSON.parse(signed) as [string, RequestKind, ...string[]];
    return { request: { id, kind, guard: guard! }, account: { id: user!, epoch: epoch!, email: email! } };
  }

  /** The code of a request for an account, as mails show it: `WDJB-MJHT`. */
  code(claim: LinkClaim): string {
    const code = codeBy(this.#codes[0]!, claim);
    return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`;
  }

  /** Reports whether someone has typed the code of a request: in any case, with or without the hyphen, and with spaces. */
  isCodeOf(claim: LinkClaim, typed: unknown): boolean {
    const letters = typeof typed === "string" && typed.length <= 100 ? typed.replace(/[\s-]/g, "").toUpperCase() : "";
    // Each key, whether or not one has fit.
    const fits = this.#codes.map((signer) => digestEquals(codeBy(signer, claim), letters));
    return fits.includes(true) && claim.account.id !== NO_ACCOUNT.id;
  }
}

/** The letters of a code: 256 bits that only the signer knows, as digits of base 20. */
function codeBy(signer: Signer, { request: { id, kind, guard }, account }: LinkClaim): string {
  const signed = signer.sign(JSON.stringify([id, kind, guard, account.id, account.epoch, account.email]));
  let rest = BigInt(`0x${Buffer.from(digest(signed), "base64url").toString("hex")}`);
  const base = BigInt(LETTERS.length);
  let code = "";
  for (let place = 0; place < CODE_LENGTH; place++) {
    code += LETTERS[Number(rest % base)];
    rest /= base;
  }
  return code;
}
