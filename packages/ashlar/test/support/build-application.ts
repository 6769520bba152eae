import { onTestFinished } from "vitest";
import { AuthProvider } from "../../src/auth/index.ts";
import { type Application, createApplication, createLogger, type ProviderClass } from "../../src/boot/index.ts";
import type { Model } from "../../src/database/index.ts";
import type { Logger, MiddlewareEntry, RouteMiddleware } from "../../src/kernel/index.ts";
import type { RouteEntry } from "../../src/routing/index.ts";
import type { PasswordHasher } from "../../src/security/index.ts";
import { quickHasher } from "../../src/testing/index.ts";
import { kernelWith } from "./application-parts.ts";
import { type Contents, sqlite, type TestEngine } from "./services.ts";

/** Registers cleanup for the end of the test, or of all tests that share an application. */
export type AtEnd = (end: () => Promise<void>) => void;

/** The parts of a test's application. */
export interface BuildOptions {
  readonly root?: string;
  readonly routes: readonly RouteEntry[];
  /** Middleware by name, in addition to `auth`, `guard` and `user`. */
  readonly middleware?: RouteMiddleware;
  /** The middleware around every request. */
  readonly httpMiddleware?: readonly MiddlewareEntry[];
  readonly providers?: readonly ProviderClass[];
  readonly config?: Readonly<Record<string, object>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** `DATABASES`. */
  readonly databases?: object;
  /** Models that use the application's database. */
  readonly models?: readonly (typeof Model)[];
  /** The password hasher; default: a quick one. */
  readonly hasher?: PasswordHasher;
  /** Receives the warnings and errors that the application logs; by default, they are dropped. */
  readonly logged?: Record<string, unknown>[];
  readonly logger?: Logger;
  /** Default: the end of the test. */
  readonly atEnd?: AtEnd;
}

/** Creates an application from these parts. It is shut down after the test. */
export async function buildApplication(options: BuildOptions): Promise<Application> {
  const { root, routes, providers = [], config = {}, environment, databases, models = [], hasher } = options;
  const hasUsers = providers.includes(AuthProvider);
  const application = await createApplication({
    kernel: kernelWith(options.middleware ?? { web: [] }, options.httpMiddleware),
    routes,
    providers,
    config: {
      ...config,
      ...(databases === undefined ? {} : { database: { DATABASES: databases } }),
      ...(hasUsers ? { auth: { PASSWORDS: passwordsOf(hasher, environment), ...config.auth } } : {}),
    },
    environment: { APP_ENV: "test", ...environment },
    ...(root === undefined ? {} : { root }),
    logger: options.logger ?? loggingInto(options.logged ?? []),
  });
  (options.atEnd ?? onTestFinished)(() => application.shutdown());
  for (const model of models) model.useDatabase(application.container.make("database"));
  return application;
}

/** The cheapest hashing, except in production, which refuses it. */
function passwordsOf(hasher?: PasswordHasher, environment?: Readonly<Record<string, string>>): object {
  if (hasher !== undefined) return { hasher };
  return environment?.APP_ENV === "production" ? {} : { hasher: quickHasher() };
}

function loggingInto(lines: Record<string, unknown>[]): Logger {
  const settings = { name: "Shop", environment: "test", log: { level: "warn", requests: false } } as const;
  return createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
}

/** How an application's databases differ from the default. */
export interface DatabaseOptions {
  /** Default: SQLite. */
  readonly engine?: TestEngine;
  readonly contents?: Contents;
  /** The names of the connections, each to its own database; default: `main`. */
  readonly names?: readonly string[];
  /** Settings of each connection, in addition to the location of its database. */
  readonly settings?: object;
  readonly atEnd?: AtEnd;
}

/** Creates `DATABASES`; the databases are dropped after the test. */
export async function ownDatabases(options: DatabaseOptions = {}): Promise<object> {
  const { engine = sqlite, contents, names = ["main"], settings, atEnd = onTestFinished } = options;
  const connections: Record<string, unknown> = {};
  for (const name of names) {
    const own = await engine.open({}, contents);
    atEnd(() => own.drop());
    connections[name] = { ...own.configuration, ...settings };
  }
  return { default: names[0], ...connections };
}

/** `DATABASES` of another application, for one that uses the same database, as after a restart. */
export function databasesOf(application: Application): object {
  return application.config.section("database").DATABASES as object;
}
