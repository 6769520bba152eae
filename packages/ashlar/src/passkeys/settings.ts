import {
  type Complete,
  ConfigurationError,
  flag,
  listOf,
  type Optional,
  settings,
  textLike,
} from "../support/index.ts";

const WHERE = "config/passkeys.ts: PASSKEYS";
const LABEL = "[a-z\\d](?:[a-z\\d-]*[a-z\\d])?";

/** `PASSKEYS` in `config/passkeys.ts`, which is optional: which sites share passkeys. */
export interface PasskeysSettings {
  /**
   * The domain that passkeys belong to (the RP ID): the host of `APP_URL`, which is the default, or a domain above it.
   * Passkeys work on this domain and those below it. If it changes, all passkeys stop working.
   */
  readonly domain?: Optional<string>;
  /**
   * Other origins whose pages may use these passkeys: `https://shop.example`. Browsers read the list at
   * `/.well-known/webauthn` of {@link domain}. An Android app has an origin like `android:apk-key-hash:…`. Default: none.
   */
  readonly relatedOrigins?: readonly string[];
  /**
   * Whether browsers that can, silently make a passkey after a login with a password. Default: `false`.
   */
  readonly createsAfterPassword?: Optional<boolean>;
}

/** {@link PasskeysSettings}, checked. */
export type CompletePasskeysSettings = Complete<PasskeysSettings>;

const ORIGIN =
  /^(?:https:\/\/[a-z\d.-]+(?::\d{1,5})?|http:\/\/localhost(?::\d{1,5})?|android:apk-key-hash:[\w-]{20,100})$/;

const SCHEMA = settings<PasskeysSettings>()({
  domain: textLike('a domain in lower case: "example.com"', new RegExp(`^${LABEL}(?:\\.${LABEL})*$`), null),
  relatedOrigins: listOf(
    'a list of origins: ["https://shop.example"]',
    textLike('an origin: "https://shop.example"', ORIGIN),
    [],
  ),
  createsAfterPassword: flag(false),
});

/**
 * Reads `PASSKEYS`.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readPasskeysSettings(value: unknown, appUrl: string | null): CompletePasskeysSettings {
  const read = SCHEMA.read(value ?? {}, WHERE);
  if (read.domain === null || appUrl === null) return read;
  const { hostname } = new URL(appUrl);
  if (hostname === read.domain || hostname.endsWith(`.${read.domain}`)) return read;
  const problem = `domain is ${read.domain}, but APP_URL is at ${hostname}, so browsers would refuse every passkey.`;
  throw new ConfigurationError(WHERE, problem, `Set domain to ${hostname}, or to a domain above it.`);
}
