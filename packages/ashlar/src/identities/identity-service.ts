import type { Application } from "../boot/index.ts";
import { declareKeyPurpose, type KeyPurpose, Sealer, Signer } from "../security/index.ts";
import type { Throttle } from "../throttle/index.ts";
import { sendToProvider } from "./exchange/outgoing.ts";
import { ProviderClient, type SendToProvider } from "./exchange/provider-client.ts";
import { IdentityNotices } from "./identity-notices.ts";
import { type NamedProvider, readIdentitiesSettings } from "./settings.ts";
import { IdentityStore } from "./stored/identity-store.ts";
import { STATE_KEY, Visits } from "./visits/visits.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The accounts of users at other sites. */
    identities: IdentityService;
  }
}

/** The purpose that a name from a provider's form is sealed for, on the way to the page that takes it. */
export const NAME_KEY: KeyPurpose = declareKeyPurpose("identity-name");

/** What an application's logins by other sites consist of. */
export class IdentityService {
  readonly application: Application;
  readonly providers: readonly NamedProvider[];
  /** Where apps may be sent back. */
  readonly appRedirects: readonly string[];
  readonly store: IdentityStore;
  readonly visits: Visits;
  readonly notices: IdentityNotices;
  /** Seals a name from a provider's form. */
  readonly names: Sealer;
  /** Sends all requests to providers. Tests replace it. */
  send: SendToProvider = sendToProvider;
  readonly #clients = new Map<string, ProviderClient>();

  /** @throws `E_INVALID_CONFIGURATION` if `config/identities.ts` can't work */
  constructor(application: Application) {
    const { config, settings } = application;
    const { IDENTITIES } = config.optionalSection("identities", ["IDENTITIES"]);
    const rotation = { previousSecrets: settings.previousKeys };
    this.application = application;
    const { appRedirects, providers } = readIdentitiesSettings(IDENTITIES);
    this.appRedirects = appRedirects;
    this.providers = providers;
    this.store = new IdentityStore(application);
    this.visits = new Visits(new Signer(settings.key, STATE_KEY, rotation), () => this.throttle);
    this.notices = new IdentityNotices(application);
    this.names = new Sealer(settings.key, NAME_KEY, rotation);
  }

  get throttle(): Throttle {
    return this.application.container.make("throttle");
  }

  /** A provider by its name, which may come from a URL; `null` if it is unknown. */
  provider(name: string | null): NamedProvider | null {
    return this.providers.find((one) => one.name === name) ?? null;
  }

  clientOf(provider: NamedProvider): ProviderClient {
    let client = this.#clients.get(provider.name);
    if (client === undefined) {
      client = new ProviderClient(provider, () => this.send);
      this.#clients.set(provider.name, client);
    }
    return client;
  }

  /** The providers with which a user can confirm who they are. */
  async confirmingOf(user: object): Promise<readonly NamedProvider[]> {
    const own = await this.store.list(user);
    return this.providers.filter(({ confirms, name }) => confirms && own.some(({ provider }) => provider === name));
  }

  /** The name of a provider for people; its name here if it was removed from the settings. */
  labelOf(name: string): string {
    return this.provider(name)?.label ?? name;
  }

  /** Where visitors come back to from a provider: a page of the application or, with its address, of its front end. */
  callbackUrl(guard: string, { name, usesFormPost }: NamedProvider): string {
    const { pages } = this.application.container.make("accounts");
    // A front end's page can't receive a form.
    return usesFormPost
      ? pages.ownUrl(guard, "identities.callback", { provider: name })
      : pages.url(guard, "identities.callback", { provider: name });
  }
}
