import type { Application } from "../boot/index.ts";
import type { Services } from "../kernel/index.ts";
import { digest } from "../security/index.ts";
import type { Throttle } from "../throttle/index.ts";
import { LoginCodes } from "./codes/login-codes.ts";
import { USE_LIMIT } from "./limits.ts";
import { type CompleteLoginLinksSettings, readLoginLinksSettings } from "./settings.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Logins by mail. */
    loginLinks: LoginLinkService;
  }
}

/** What an application's logins by mail consist of. */
export class LoginLinkService {
  readonly settings: CompleteLoginLinksSettings;
  readonly codes: LoginCodes;
  readonly #application: Application;

  /** @throws `E_INVALID_CONFIGURATION` if `config/login-links.ts` cannot work */
  constructor(application: Application) {
    const { config, settings } = application;
    const { LOGIN_LINKS } = config.optionalSection("login-links", ["LOGIN_LINKS"]);
    this.#application = application;
    this.settings = readLoginLinksSettings(LOGIN_LINKS);
    this.codes = new LoginCodes(settings.key, settings.previousKeys);
  }

  /** What features share that prove addresses by mail. */
  get proofs(): Services["accounts"]["mailProofs"] {
    return this.#application.container.make("accounts").mailProofs;
  }

  get throttle(): Throttle {
    return this.#application.container.make("throttle");
  }

  /**
   * Takes a request whose link or code was just used: of any number of uses, in all processes, only one gets it.
   *
   * Security: this count is the only thing that is stored about a request. It is atomic in all stores, and isn't undone with
   * the request's transaction.
   *
   * @param id the request's id
   */
  async take(id: string): Promise<boolean> {
    return (await this.throttle.consume(USE_LIMIT, { account: digest(id) })).allowed;
  }

  /** Reports whether a request was taken. */
  async isTaken(id: string): Promise<boolean> {
    return !(await this.throttle.peek(USE_LIMIT, { account: digest(id) })).allowed;
  }
}
