import type { HttpContext } from "../../http/index.ts";
import { declareKeyPurpose, digest, type KeyPurpose, randomToken, type Signer } from "../../security/index.ts";
import type { Throttle } from "../../throttle/index.ts";

/** The purpose that challenges are signed for. */
export const CHALLENGE_KEY: KeyPurpose = declareKeyPurpose("passkey-challenge");

/** The limit under which each challenge passes once. */
export const CHALLENGE_LIMIT = "passkeys.challenge";

const NONCE_BYTES = 16;

/** For how long a challenge can be answered. */
export const CHALLENGE_SECONDS = 300;

/** What a challenge is answered for: to log in, to confirm who the user is, to add a passkey, or to register. */
export type ChallengePurpose = "login" | "confirm" | "create" | "conditional" | "register";

/** What is signed as part of a challenge. */
export interface ChallengeFacts {
  readonly purpose: ChallengePurpose;
  /** Whom it is for: the digest of a user's or a registration's name; `null` for anyone. */
  readonly subject: string | null;
  /** The user handle that a new passkey gets; `null` for an existing one. */
  readonly userHandle: string | null;
}

type Signed = readonly [ChallengePurpose, string | null, string | null, string | null, string];

/**
 * What authenticators sign, so that nothing they have signed before is accepted. A challenge is itself signed here, so
 * none has to be stored. It is bound to the visitor's session; that of an API client, which has no session, isn't.
 */
export class Challenges {
  readonly #signer: Signer;
  readonly #throttle: () => Throttle;

  constructor(signer: Signer, throttle: () => Throttle) {
    this.#signer = signer;
    this.#throttle = throttle;
  }

  /** Makes a challenge, in base64url, as options of WebAuthn have it. */
  make(context: HttpContext, { purpose, subject, userHandle }: ChallengeFacts): string {
    const facts: Signed = [purpose, subject, userHandle, visitorOf(context), randomToken(NONCE_BYTES)];
    const text = this.#signer.sign(JSON.stringify(facts), { expiresInSeconds: CHALLENGE_SECONDS });
    return Buffer.from(text).toString("base64url");
  }

  /**
   * Takes a challenge that was answered: of any number of requests with the same one, in all processes, only one gets its
   * facts. It is taken even if the answer turns out to be wrong.
   *
   * @param challenge as the client sent it
   * @returns `null` if it was not made here for this visitor and purpose in the last five minutes, or was taken before
   */
  async take(
    context: HttpContext,
    challenge: string,
    purposes: readonly ChallengePurpose[],
    subject: string | null,
  ): Promise<ChallengeFacts | null> {
    const text = Buffer.from(challenge, "base64url").toString();
    const signed = this.#signer.verify(text);
    if (signed === null) return null;
    const [purpose, whom, userHandle, visitor] = JSON.parse(signed) as Signed;
    if (!purposes.includes(purpose) || whom !== subject || visitor !== visitorOf(context)) return null;
    // Security: the count of a challenge is the only thing that is stored. It is atomic in all stores, and isn't undone
    // with the request's transaction.
    const { allowed } = await this.#throttle().consume(CHALLENGE_LIMIT, { account: digest(text) });
    return allowed ? { purpose, subject, userHandle } : null;
  }
}

/** What a request's challenges are bound to; `null` for an API client. */
function visitorOf(context: HttpContext): string | null {
  return context.visitor === null ? null : digest(context.session.id);
}
