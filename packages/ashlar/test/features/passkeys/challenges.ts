import type { HttpContext } from "ashlar";
import { randomToken, type Signer } from "ashlar/security";

const KEY = "passkeys.challenge";
const SECONDS = 300;

/** What authenticators sign, so that nothing they have signed before is accepted. */
export class Challenges {
  readonly #signer: Signer;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  /** A challenge for the visitor, who can answer it once, within five minutes. */
  forVisitor({ session }: HttpContext): string {
    const challenge = this.forClient();
    session.put(KEY, challenge);
    return challenge;
  }

  /** A challenge for an API client, which has no session; that it is answered once, the passkey's counter ensures. */
  forClient(): string {
    return this.#signer.sign(randomToken(), { expiresInSeconds: SECONDS });
  }

  /** Reports whether a challenge is the visitor's, and takes it. */
  isOfVisitor({ session }: HttpContext, challenge: string): boolean {
    return session.pull(KEY) === challenge && this.isOwn(challenge);
  }

  /** Reports whether a challenge was made here, in the last five minutes. */
  isOwn(challenge: string): boolean {
    return this.#signer.verify(challenge) !== null;
  }
}
