import { ApiProvider } from "../../api/index.ts";
import { AuthProvider } from "../../auth/index.ts";
import { type InstalledFeature, installedFeatures, type ProviderClass } from "../../boot/index.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { EventProvider } from "../../events/index.ts";
import { MailProvider } from "../../mail/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { spell } from "../files/names.ts";

/** The providers in generated applications, each with the module that exports it, in the order in which they start. */
export const PROVIDERS: readonly (readonly [provider: ProviderClass, from: string])[] = [
  [DatabaseProvider, "ashlar/database"],
  [EventProvider, "ashlar/events"],
  [ViewProvider, "ashlar/views"],
  [SessionProvider, "ashlar/session"],
  [ThrottleProvider, "ashlar/throttle"],
  [MailProvider, "ashlar/mail"],
  [AuthProvider, "ashlar/auth"],
  [ApiProvider, "ashlar/api"],
];

const FEATURES: readonly InstalledFeature[] = installedFeatures(PROVIDERS.map(([provider]) => provider));

/** The lines of `.env` for a feature's variables: a comment about each, and its usual value. */
export function variableLines(name: string): readonly string[] {
  const { feature } = FEATURES.find((one) => one.feature.name === name)!;
  return Object.entries(feature.variables ?? {}).flatMap(([variable, { about = [], value = "" }]) => {
    return [...about.map((line) => `# ${line}`), `${variable}=${value}`];
  });
}

/** A mail class for accounts that `ashlar auth` generates, and its file name. */
export interface GeneratedMail {
  readonly key: string;
  readonly name: string;
  readonly file: string;
}

/**
 * The account mails for which `ashlar auth` generates classes. The classes for mails about tokens are added with the
 * tokens. The rare mail about the first proof of an address stays in plain text.
 */
export const ACCOUNT_MAILS: readonly GeneratedMail[] = FEATURES.flatMap(({ feature }) =>
  Object.keys(feature.accountMails ?? {}),
)
  .filter((key) => !key.startsWith("token") && key !== "addressProved")
  .map((key) => {
    const { pascal, kebab } = spell(key);
    return { key, name: `${pascal}Mail`, file: `${kebab}-mail` };
  });
