import type { HttpContext } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import type { PasskeyService } from "../passkey-service.ts";

/** Responds with what browsers and password managers look for at the root of the host. */
export class PasskeyWellKnownController {
  readonly #passkeys: PasskeyService;

  constructor(container: Container) {
    this.#passkeys = container.make("passkeys");
  }

  /** GET /.well-known/webauthn: the other origins that may use the passkeys (WebAuthn Level 3 §5.11). */
  related(): object {
    return { origins: this.#passkeys.party.relatedWebsites };
  }

  /** GET /.well-known/passkey-endpoints: the page on which users add and manage passkeys (W3C Passkey Endpoints). */
  endpoints(context: HttpContext): object {
    const { auth } = context;
    if (!auth.hasRoute("account.passkeys")) return {};
    const page = new URL(auth.route("account.passkeys"), this.#passkeys.party.origins(context)[0]).href;
    return { enroll: page, manage: page };
  }
}
