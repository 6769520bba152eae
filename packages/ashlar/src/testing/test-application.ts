import { join, resolve } from "node:path";
import {
  type Application,
  type ApplicationOptions,
  type Configuration,
  createApplication,
  loadConfiguration,
  type ProviderClass,
  readEnvironment,
} from "../boot/index.ts";
import { Argon2Hasher, DEFAULT_HASHER, generateSecret } from "../security/index.ts";
import { isPlainObject } from "../support/index.ts";
import { quickHasher } from "./quick-hasher.ts";
import { testDatabases, withTestDatabase } from "./test-database.ts";

/** What an application of tests is made of. */
export interface TestApplicationOptions extends ApplicationOptions {
  /**
   * A connection to a PostgreSQL server, as in `config/database.ts`, for tests that need one: a database of their own is
   * made on it, and dropped at shutdown. SQLite in memory where left out.
   */
  readonly database?: Readonly<Record<string, unknown>>;
}

/**
 * Makes an application for a test file: with a fresh database in memory whose migrations have run, with mails kept in
 * memory, with secrets of its own and passwords hashed by `quickHasher()`, in the environment `test`. Nothing of it leads to a database or a mail server of the
 * configuration, and it is gone with `shutdown()`.
 *
 * ```ts
 * const application = await createTestApplication({ root: join(import.meta.dirname, ".."), kernel: Kernel });
 * afterAll(() => application.shutdown());
 * ```
 *
 * It takes the options of `createApplication`. What `app.ts` does beyond calling that is not done.
 *
 * @throws what `createApplication` throws; `E_MIGRATION`
 */
export async function createTestApplication(options: TestApplicationOptions = {}): Promise<Application> {
  const { database: server = null, ...rest } = options;
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
  try {
    return await createApplication({
      ...rest,
      environment,
      providers,
      config: {
        ...options.config,
        database: { ...options.config?.database, DATABASES: databases },
        ...(config.has("auth") ? { auth: { ...options.config?.auth, PASSWORDS: quickly(passwords) } } : {}),
        mail: { ...options.config?.mail, MAIL: { ...(isPlainObject(mail) ? mail : {}), transport: "memory" } },
      },
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

/** `PASSWORDS` of an application, with the framework's hasher doing little work; a hasher of its own is left alone. */
function quickly(passwords: unknown = {}): unknown {
  if (!isPlainObject(passwords)) return passwords;
  const { hasher = DEFAULT_HASHER } = passwords;
  return hasher instanceof Argon2Hasher ? { ...passwords, hasher: quickHasher() } : passwords;
}

function exported(config: Configuration, section: string, name: string): unknown {
  return config.has(section) ? config.section(section)[name] : undefined;
}
