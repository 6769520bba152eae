import { join, resolve } from "node:path";
import {
  type Application,
  type ApplicationOptions,
  type Configuration,
  createApplication,
  loadConfiguration,
  type ProviderClass,
  readEnvironment,
} from "../../boot/index.ts";
import { connectionSource, type DialectSource, type NamedDialect } from "../../database/index.ts";
import {
  Argon2Hasher,
  DEFAULT_HASHER,
  DEFAULT_PARAMETERS,
  generateSecret,
  type PasswordHasher,
} from "../../security/index.ts";
import { privateKeyFor } from "../../security/jwt/index.ts";
import { isLeftOut, isPlainObject } from "../../support/index.ts";
import { testDatabases, withTestDatabase } from "./test-database.ts";

/** Options of a test application. */
export interface TestApplicationOptions extends ApplicationOptions {
  /**
   * A connection such as `postgres({ url })`, for tests that need a real server: an empty database is created next to
   * it, on the same server, and dropped at shutdown. Default: SQLite in memory.
   */
  readonly database?: DialectSource | NamedDialect;
}

/**
 * Creates an application for a test file: with a new database in memory, after running the migrations, mails kept in
 * memory, its own secrets, including those of the drivers in `config/api.ts`, passwords hashed by `quickHasher()`, and
 * the environment `test`. It never uses a configured database or mail server. `shutdown()` removes the new database.
 *
 * ```ts
 * const application = await createTestApplication({ root: join(import.meta.dirname, ".."), kernel: Kernel });
 * afterAll(() => application.shutdown());
 * ```
 *
 * It takes the options of `createApplication`. Other code of `app.ts` doesn't run.
 *
 * @throws the errors of `createApplication`; `E_MIGRATION`
 */
export async function createTestApplication(options: TestApplicationOptions = {}): Promise<Application> {
  const { database, ...rest } = options;
  const server = database === undefined ? null : connectionSource("database", database);
  const root = options.root === undefined ? null : resolve(options.root);
  const environment = {
    APP_ENV: "test",
    APP_KEY: generateSecret(),
    JWT_SECRET: generateSecret(),
    ...options.environment,
  };
  const config = await loadConfiguration(root, readEnvironment(root, environment), options.config);
  const { databases, remove } = await testDatabases(exported(config, "database", "DATABASES"), server);
  const providers = withTestDatabase(
    options.providers ?? ((exported(config, "providers", "PROVIDERS") ?? []) as readonly ProviderClass[]),
    root === null ? null : join(root, "database", "migrations"),
    remove,
  );
  const mail = exported(config, "mail", "MAIL");
  const passwords = exported(config, "auth", "PASSWORDS");
  const drivers = exported(config, "api", "DRIVERS");
  try {
    return await createApplication({
      ...rest,
      environment,
      providers,
      config: {
        ...options.config,
        database: { ...options.config?.database, DATABASES: databases },
        ...(config.has("auth") ? { auth: { ...options.config?.auth, PASSWORDS: quickly(passwords) } } : {}),
        ...(drivers === undefined
          ? {}
          : { api: { ...options.config?.api, DRIVERS: await withDriverSecrets(drivers) } }),
        mail: { ...options.config?.mail, MAIL: { ...(isPlainObject(mail) ? mail : {}), transport: "memory" } },
      },
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

/** An application's `PASSWORDS`, with little work for the framework's hasher; a custom hasher is unchanged. */
function quickly(passwords: unknown = {}): unknown {
  if (!isPlainObject(passwords)) return passwords;
  const { hasher = DEFAULT_HASHER } = passwords;
  return hasher instanceof Argon2Hasher ? { ...passwords, hasher: quickHasher() } : passwords;
}

function exported(config: Configuration, section: string, name: string): unknown {
  return config.has(section) ? config.section(section)[name] : undefined;
}

/**
 * An application's `DRIVERS` with a separate secret or private key for each driver whose `secret` has no value because
 * its environment variable isn't set.
 */
async function withDriverSecrets(drivers: unknown): Promise<unknown> {
  if (!isPlainObject(drivers)) return drivers;
  const entries = Object.entries(drivers).map(async ([name, entry]) => [name, await withSecret(entry)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function withSecret(entry: unknown): Promise<unknown> {
  // If the variable's name is missing, it may be misspelled, which startup reports.
  if (!isPlainObject(entry) || !Object.hasOwn(entry, "secret") || !isLeftOut(entry.secret)) return entry;
  return { ...entry, secret: (await privateKeyFor(entry.algorithm)) ?? generateSecret() };
}

/** The minimum that Argon2 allows with one lane (RFC 9106 §3.1). */
const PARAMETERS = { ...DEFAULT_PARAMETERS, memory: 8, passes: 1 };
const hasher = new Argon2Hasher(PARAMETERS);

/**
 * For tests, hashes passwords by argon2id with hardly any work: 8 KiB and one pass. `createTestApplication` uses it
 * unless the application sets its own hasher. Hashes with other parameters verify too.
 *
 * Security: in production, it fails startup.
 */
export function quickHasher(): PasswordHasher {
  return hasher;
}
