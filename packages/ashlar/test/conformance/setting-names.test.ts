import { describe, expect, test } from "vitest";
import { ApiProvider, AuthenticatesTokens } from "../../src/api/index.ts";
import { readApiSettings } from "../../src/api/settings/driver-settings.ts";
import { readAccountsSettings } from "../../src/auth/accounts/mails/settings.ts";
import { Authenticates, AuthProvider } from "../../src/auth/index.ts";
import { readApplicationSettings } from "../../src/boot/environment/settings.ts";
import { createApplication } from "../../src/boot/index.ts";
import { compose, Database, DatabaseProvider, Model } from "../../src/database/index.ts";
import { readMailSettings } from "../../src/mail/settings.ts";
import { generateSecret } from "../../src/security/index.ts";
import { readSessionSettings } from "../../src/session/stores/settings.ts";
import { readThrottleSettings } from "../support/throttle-settings.ts";

class User extends compose(Model, Authenticates, AuthenticatesTokens) {}

const APPLICATION = { environment: "test", name: "Shop", url: null } as const;
const JWT = { secret: generateSecret(), model: User };
const DATABASES = { default: "main", main: { driver: "sqlite", path: ":memory:" } };
const BUCKET = { by: ["address"], attempts: 1, windowSeconds: 1 };

const app = (APP: object) => readApplicationSettings(APP, { APP_ENV: "test" }, false);
const mail = (MAIL: object) => readMailSettings(MAIL, APPLICATION);
const session = (SESSION: object) => readSessionSettings(SESSION, null);
const api = (jwt: object) => readApiSettings({ jwt: { ...JWT, ...jwt } });
const throttle = (THROTTLE: object) => readThrottleSettings(THROTTLE);
const database = (settings: object) => new Database({ ...DATABASES, ...settings }, "/");
const guards = (GUARDS: object) => boot({ GUARDS: { default: "web", web: { model: User }, ...GUARDS } });
const boot = (auth: Record<string, unknown>, others: Record<string, Record<string, unknown>> = {}) =>
  createApplication({
    providers: [DatabaseProvider, AuthProvider, ApiProvider],
    config: { database: { DATABASES }, auth, api: { DRIVERS: { jwt: JWT } }, ...others },
    environment: { APP_ENV: "test" },
  });

/** The function that reads part of the configuration, a misspelled name, and the suggested one. */
const OBJECTS: readonly (readonly [
  where: string,
  read: (settings: object) => unknown,
  written: string,
  meant: string,
])[] = [
  ["config/app.ts: APP", app, "trusted_proxies", "trustedProxies"],
  ["config/app.ts: APP.server", (server) => app({ server }), "max_connections", "maxConnections"],
  ["config/app.ts: APP.limits", (limits) => app({ limits }), "max_body_bytes", "maxBodyBytes"],
  ["config/app.ts: APP.log", (log) => app({ log }), "request", "requests"],
  ["config/mail.ts: MAIL", mail, "form", "from"],
  ["config/mail.ts: MAIL.from", (from) => mail({ from }), "adress", "address"],
  ["config/mail.ts: MAIL.smtp", (smtp) => mail({ smtp }), "require_tls", "requireTls"],
  ["config/mail.ts: MAIL.smtp.timeouts", (timeouts) => mail({ smtp: { host: "h", timeouts } }), "idle", "idleSeconds"],
  ["config/mail.ts: MAIL.retry", (retry) => mail({ retry }), "delay_seconds", "delaySeconds"],
  ["config/session.ts: SESSION", session, "lifetime", "lifetimeMinutes"],
  ["config/session.ts: SESSION", session, "same_site", "sameSite"],
  ["config/api.ts: DRIVERS", readApiSettings, "JWT", "jwt"],
  ["config/api.ts: DRIVERS.jwt", api, "reauth_within_minutes", "reauthWithinMinutes"],
  ["config/api.ts: DRIVERS.jwt", api, "reauthWithin", "reauthWithinMinutes"],
  ["config/api.ts: DRIVERS.jwt", api, "clockSkew", "clockSkewSeconds"],
  ["config/api.ts: DRIVERS.jwt", api, "expiresInMinutes", "expires"],
  ["config/throttle.ts: THROTTLE", throttle, "limit", "limits"],
  ["config/throttle.ts: THROTTLE.limits", (limits) => throttle({ limits }), "changePassword", "change_password"],
  [
    "config/throttle.ts: THROTTLE.limits.export",
    (limit) => throttle({ limits: { export: { buckets: [BUCKET], ...limit } } }),
    "acount",
    "account",
  ],
  [
    "config/throttle.ts: THROTTLE.limits.export.buckets[0]",
    (bucket) => throttle({ limits: { export: { buckets: [{ ...BUCKET, ...bucket }] } } }),
    "window_seconds",
    "windowSeconds",
  ],
  ["config/database.ts: DATABASES", database, "Default", "default"],
  [
    "config/database.ts: DATABASES.main",
    (settings) => database({ main: { ...DATABASES.main, ...settings } }),
    "busy_timeout_ms",
    "busyTimeoutMs",
  ],
  [
    "config/database.ts: DATABASES.main",
    (settings) => database({ main: { driver: "postgres", ...settings } }),
    "poolsize",
    "poolSize",
  ],
  ["config/auth.ts: ACCOUNTS", readAccountsSettings, "verificationExpires", "verificationExpiresInMinutes"],
  ["config/auth.ts: ACCOUNTS", readAccountsSettings, "emailChangeExpires", "emailChangeExpiresInMinutes"],
  ["config/auth.ts: ACCOUNTS", readAccountsSettings, "prevent_enumeration", "preventEnumeration"],
  ["config/auth.ts: ACCOUNTS.mailables", (mailables) => boot({ ACCOUNTS: { mailables } }), "new_device", "newDevice"],
  ["config/auth.ts: GUARDS", guards, "password_reset_expiration", "passwordResetExpiration"],
  ["config/auth.ts: GUARDS.web", (web) => guards({ web: { model: User, ...web } }), "idle_minutes", "idleMinutes"],
  [
    "config/auth.ts: GUARDS.web",
    (web) => guards({ web: { model: User, ...web } }),
    "idleTimeoutMinutes",
    "idleMinutes",
  ],
  ["config/auth.ts: GUARDS.web", (web) => guards({ web: { model: User, ...web } }), "Model", "model"],
  ["config/auth.ts: GUARDS.jwt", (jwt) => guards({ jwt: { model: User, ...jwt } }), "drivers", "driver"],
];

describe("a misspelled setting makes startup fail, with a suggestion", () => {
  test.each(OBJECTS.map(([where, read, written, meant]) => ({ where, read, written, meant })))(
    "$where.$written",
    async ({ where, read, written, meant }) => {
      const sentence = `${where}.${written}: is not a known setting. Did you mean "${meant}"?`;
      // A line about the value may follow if the author chooses the name.
      await expect((async () => await read({ [written]: 5 }))()).rejects.toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: expect.toSatisfy((message: string) => message.split("\n")[0] === sentence, sentence),
      });
    },
  );

  test.each([
    ["auth", "ACCOUNT", "ACCOUNTS"],
    ["app", "APPS", "APP"],
    ["database", "DATABASE", "DATABASES"],
    ["api", "DRIVER", "DRIVERS"],
  ])("a misspelled export makes it fail too: config/%s.ts: %s", async (section, written, meant) => {
    const others = section === "auth" ? {} : { [section]: { [written]: {} } };
    const auth = { GUARDS: { web: { model: User } }, ...(section === "auth" ? { [written]: {} } : {}) };
    await expect(boot(auth, others)).rejects.toThrow(
      `config/${section}.ts: ${written}: is not a known setting. Did you mean "${meant}"?`,
    );
  });

  test("the application's own exports are left alone", async () => {
    const auth = { GUARDS: { default: "web", web: { model: User } }, ACCOUNTS: {}, ACCOUNT: {}, SHOPS: {} };
    await (await boot(auth)).shutdown();
  });
});
