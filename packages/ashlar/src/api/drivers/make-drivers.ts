import type { Application } from "../../boot/index.ts";
import { RemoteKeys } from "../../security/jwks/index.ts";
import { ConfigurationError, readPem } from "../../support/index.ts";
import { GrantedAbilities } from "../abilities.ts";
import { TokenEvents } from "../events.ts";
import {
  type CompleteJwtSettings,
  DRIVERS_PLACE,
  readAbilities,
  readApiSettings,
} from "../settings/driver-settings.ts";
import { type CompleteForeignSettings, requireHttps } from "../settings/foreign-settings.ts";
import { createManyTable, ManyStore } from "../stores/many-store.ts";
import { createPersonalTable, PersonalStore } from "../stores/personal-store.ts";
import { SingleStore } from "../stores/single-store.ts";
import { TokenMails } from "../token-mails.ts";
import { ForeignVerifier } from "../verifiers/foreign-verifier.ts";
import { type Driver, Drivers } from "./drivers.ts";
import { Issuer } from "./issuer.ts";

/** The resources shared by an application's drivers, which are closed with the application. */
export class DriverResources {
  readonly many: ReturnType<typeof createManyTable>;
  readonly personal: ReturnType<typeof createPersonalTable>;
  /** Other issuers' keys. */
  readonly keys: RemoteKeys[] = [];

  constructor(application: Application) {
    this.many = createManyTable(application);
    this.personal = createPersonalTable(application);
  }

  get tables(): readonly [DriverResources["many"], DriverResources["personal"]] {
    return [this.many, this.personal];
  }
}

/**
 * Creates the drivers of `config/api.ts`.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM`
 */
export function makeDrivers(application: Application, resources: DriverResources): Drivers {
  const { DRIVERS, ABILITIES } = application.config.optionalSection("api", ["DRIVERS", "ABILITIES"]);
  const listed = readAbilities(ABILITIES);
  const drivers = readApiSettings(DRIVERS).map((settings) => {
    return settings.kind === "foreign"
      ? foreignDriver(application, resources, settings)
      : issuingDriver(application, resources, settings, new GrantedAbilities(listed, settings.abilitiesOf));
  });
  return new Drivers(drivers, new GrantedAbilities(listed), () => application.router);
}

function issuingDriver(
  application: Application,
  { many, personal: personalTable }: DriverResources,
  settings: CompleteJwtSettings,
  abilities: GrantedAbilities,
): Driver {
  const { key, previousKeys } = application.settings;
  const events = eventsOf(application, settings.name);
  const shared = { abilities, events, mails: new TokenMails(settings.name, application.container) };
  requireDatabase(application, settings);
  const store =
    settings.tokens.kind === "single"
      ? new SingleStore(settings, abilities)
      : new ManyStore(settings, { ...shared, table: many, keys: [key, ...previousKeys] });
  const personal = settings.personal === null ? null : new PersonalStore(settings, { ...shared, table: personalTable });
  const verifiers = personal === null ? [store] : [personal, store];
  warnOfEndlessTokens(application, settings);
  return { name: settings.name, settings, events, issuer: new Issuer(store, events), personal, verifiers };
}

/** @throws `E_INVALID_CONFIGURATION` if tokens of this driver are rows, but the application has no database */
function requireDatabase({ container }: Application, { name, tokens, personal }: CompleteJwtSettings): void {
  if (container.has("database") || (tokens.kind === "single" && personal === null)) return;
  const [setting, written] = tokens.kind === "many" ? ["tokens", "tokens: many()"] : ["personal", "personal()"];
  const remedy = "List DatabaseProvider in PROVIDERS, before ApiProvider.";
  throw new ConfigurationError(`${DRIVERS_PLACE}.${name}.${setting}`, `${written} needs a database.`, remedy);
}

function foreignDriver(application: Application, { keys }: DriverResources, settings: CompleteForeignSettings): Driver {
  const { environment, root, logger } = application;
  const { name } = settings;
  const where = `${DRIVERS_PLACE}.${name}`;
  if (environment === "production") requireHttps(settings, where);
  const ca = settings.ca === null ? null : readPem(settings.ca, "certificate", { root, where: `${where}.ca` });
  const remote = new RemoteKeys({ ...settings, ca, where }, logger);
  keys.push(remote);
  const verifiers = [new ForeignVerifier(settings, remote)];
  return { name, settings, events: eventsOf(application, name), issuer: null, personal: null, verifiers };
}

function eventsOf({ container, logger }: Application, driver: string): TokenEvents {
  return new TokenEvents(driver, container.has("events") ? container.make("events") : null, logger);
}

function warnOfEndlessTokens(
  { environment, logger }: Application,
  { name, expiresInMinutes, authenticates }: CompleteJwtSettings,
): void {
  if (environment !== "production" || expiresInMinutes !== null || authenticates) return;
  logger.warn(
    { finding: "tokens.immortal" },
    `API tokens never expire and cannot be revoked. Set DRIVERS.${name}.expires to a number of minutes in ` +
      "config/api.ts, or authenticates to true.",
  );
}
