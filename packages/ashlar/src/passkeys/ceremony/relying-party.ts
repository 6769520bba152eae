import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { CompletePasskeysSettings } from "../settings.ts";

/** The site that passkeys belong to: a relying party of WebAuthn. */
export class RelyingParty {
  readonly #application: Application;
  readonly #settings: CompletePasskeysSettings;

  constructor(application: Application, settings: CompletePasskeysSettings) {
    this.#application = application;
    this.#settings = settings;
  }

  /** Its name, which browsers show. */
  get name(): string {
    return this.#application.settings.name;
  }

  /** Whether browsers are asked to make a passkey after a login with a password. */
  get createsAfterPassword(): boolean {
    return this.#settings.createsAfterPassword === true;
  }

  /** Its domain, the RP ID. */
  domain(context: HttpContext): string {
    return this.#settings.domain ?? new URL(this.#own(context)).hostname;
  }

  /** The origins whose pages may use its passkeys. */
  origins(context: HttpContext): readonly string[] {
    return [this.#own(context), ...this.#settings.relatedOrigins];
  }

  /** The origins of other websites, for browsers. */
  get relatedWebsites(): readonly string[] {
    return this.#settings.relatedOrigins.filter((origin) => origin.startsWith("http"));
  }

  /**
   * The origin of `APP_URL`.
   *
   * Security: never that of the request in production, where `APP_URL` is required, because clients choose the host.
   */
  #own({ request }: HttpContext): string {
    return new URL(this.#application.settings.url ?? request.fullUrl()).origin;
  }
}
