import type { Application } from "../boot/index.ts";
import type { Database } from "../database/index.ts";
import { Signer } from "../security/index.ts";
import type { Throttle } from "../throttle/index.ts";
import { CHALLENGE_KEY, Challenges } from "./ceremony/challenges.ts";
import { RelyingParty } from "./ceremony/relying-party.ts";
import { PasskeyNotices } from "./passkey-notices.ts";
import { readPasskeysSettings } from "./settings.ts";
import { PasskeyStore } from "./stored/passkey-store.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The passkeys of users. */
    passkeys: PasskeyService;
  }
}

/** What an application's passkeys consist of. */
export class PasskeyService {
  readonly challenges: Challenges;
  readonly party: RelyingParty;
  readonly store: PasskeyStore;
  readonly notices: PasskeyNotices;
  readonly #application: Application;

  /** @throws `E_INVALID_CONFIGURATION` if `config/passkeys.ts` cannot work */
  constructor(application: Application) {
    const { config, container, settings } = application;
    const { PASSKEYS } = config.optionalSection("passkeys", ["PASSKEYS"]);
    const signer = new Signer(settings.key, CHALLENGE_KEY, { previousSecrets: settings.previousKeys });
    this.#application = application;
    this.challenges = new Challenges(signer, () => this.throttle);
    this.party = new RelyingParty(application, readPasskeysSettings(PASSKEYS, settings.url));
    this.store = new PasskeyStore(() => container.make("authenticators"));
    this.notices = new PasskeyNotices(application);
  }

  get database(): Database {
    return this.#application.container.make("database");
  }

  get throttle(): Throttle {
    return this.#application.container.make("throttle");
  }
}
