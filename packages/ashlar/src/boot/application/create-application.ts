import { join, resolve } from "node:path";
import { declareHttpMessages } from "../../http/index.ts";
import { type Container, HttpKernel, type KernelClass, type Logger, type RouteMiddleware } from "../../kernel/index.ts";
import { Catalogue, type LanguageFile } from "../../messages/index.ts";
import { declareRoutingMessages, type RouteEntry, type RouteSource } from "../../routing/index.ts";
import { declarePasswordMessages } from "../../security/index.ts";
import { AshlarError, type EnvironmentVariables, runtimeProblem, SetupProblems } from "../../support/index.ts";
import type { CompleteApplicationSettings } from "../environment/application-settings.ts";
import type { Configuration, ConfigurationSection } from "../environment/configuration.ts";
import { readEnvironment } from "../environment/environment.ts";
import { loadConfiguration } from "../environment/load-configuration.ts";
import { loadLanguages } from "../environment/load-languages.ts";
import { loadRoutes } from "../environment/load-routes.ts";
import { usableSettings } from "../environment/usable-settings.ts";
import { createLogger } from "../log/create-logger.ts";
import { Application } from "./application.ts";
import { currentInspection } from "./inspection.ts";
import { providersOf } from "./load-providers.ts";
import type { ProviderClass } from "./provider.ts";
import "../errors.ts";

/** The parts of an application. All are optional. */
export interface ApplicationOptions {
  /** The application's folder, with `config/`, `routes/`, `public/` and `.env`: `import.meta.dirname`. */
  readonly root?: string;
  /** The class that declares the middleware and the routes files. */
  readonly kernel?: KernelClass;
  /** Routes in addition to those in the routes files, on the stack `web`. */
  readonly routes?: readonly RouteEntry[];
  /** The enabled features, instead of `PROVIDERS` of `config/providers.ts`. */
  readonly providers?: readonly ProviderClass[];
  /** Configuration by section, which overrides the files of `config/`: `{ app: { APP: { name: "Shop" } } }`. */
  readonly config?: Readonly<Record<string, ConfigurationSection>>;
  /** Environment variables, which override those of the process and of `.env`. */
  readonly environment?: EnvironmentVariables;
  /** The log; default: one that writes to standard output. Use `createLogger(…)`, or any pino logger. */
  readonly logger?: Logger;
}

/** @internal The dependencies of an application that hasn't booted. */
export interface ApplicationDependencies {
  readonly root: string;
  readonly config: Configuration;
  readonly settings: CompleteApplicationSettings;
  readonly messages: Catalogue;
  /** The files of `lang/`. */
  readonly languageFiles: readonly LanguageFile[];
  readonly variables: EnvironmentVariables;
  readonly logger: Logger;
  /** Whether a command only inspects the application. */
  readonly isInspected: boolean;
}

/** @internal The options of an application's startup. */
export interface BootOptions {
  readonly kernel: (container: Container) => HttpKernel;
  readonly providers: readonly ProviderClass[];
  readonly loadRoutes: (container: Container) => Promise<readonly RouteSource[]>;
  /** The path of the public files; `null` if the application has no folder. */
  readonly publicFolder: string | null;
  /** The problems that have been found so far. */
  readonly problems: SetupProblems;
}

/** The default kernel: two stacks, both empty. */
class DefaultKernel extends HttpKernel {
  override routeMiddleware: RouteMiddleware = { web: [], api: [] };
}

/**
 * Creates an application and boots it.
 *
 * ```ts
 * const application = await createApplication({ routes: [Route.get("/", () => "hello")] });
 * await application.listen({ port: 3000 });
 * ```
 *
 * Mistakes in configuration, routes or middleware fail startup. The error says what is wrong, where, and how to fix it. If
 * there are several mistakes, the message has a line for each, and the error has their common code, or else
 * `E_INVALID_CONFIGURATION`.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_MISSING_ENVIRONMENT`, `E_WEAK_SECRET`, `E_INVALID_ROUTE`, `E_UNSUPPORTED_NODE`,
 *   and errors that providers throw
 */
export async function createApplication(options: ApplicationOptions = {}): Promise<Application> {
  const tooOld = runtimeProblem();
  if (tooOld !== null) throw new AshlarError("E_UNSUPPORTED_NODE", tooOld);
  const inspection = currentInspection();
  if (inspection !== null) inspection.applicationOptions = options;
  const root = options.root === undefined ? null : resolve(options.root);
  const environment = readEnvironment(root, { ...options.environment, ...inspection?.environment });
  const problems = new SetupProblems();
  const config = await loadConfiguration(root, environment, options.config, null, problems);
  const settings = usableSettings(problems, config, environment, root !== null);
  if (settings === undefined) throw problems.error;
  const languageFiles = await loadLanguages(root);
  const application = new Application({
    root: root ?? process.cwd(),
    config,
    settings,
    messages: catalogueOf(settings, languageFiles),
    languageFiles,
    variables: environment,
    logger: inspection?.logger ?? options.logger ?? createLogger(settings),
    isInspected: inspection !== null,
  });
  try {
    await application.boot(bootOptions(options, root, config, problems));
  } catch (error) {
    await application.shutdown();
    throw error;
  }
  if (inspection !== null) inspection.application = application;
  return application;
}

function bootOptions(
  { kernel: Kernel = DefaultKernel, providers, routes }: ApplicationOptions,
  root: string | null,
  config: Configuration,
  problems: SetupProblems,
): BootOptions {
  return {
    kernel: (container) => new Kernel(container),
    providers: providers ?? problems.try(() => providersOf(config)) ?? [],
    publicFolder: root === null ? null : join(root, "public"),
    loadRoutes: (container) => routeSources(root, container, routes),
    problems,
  };
}

/** The framework's sentences, in the application's languages. */
function catalogueOf(settings: CompleteApplicationSettings, files: readonly LanguageFile[]): Catalogue {
  const catalogue = new Catalogue(settings.language, [...settings.languages, ...files.map(({ language }) => language)]);
  declareHttpMessages(catalogue);
  declareRoutingMessages(catalogue);
  declarePasswordMessages(catalogue);
  return catalogue;
}

async function routeSources(
  root: string | null,
  container: Container,
  given: readonly RouteEntry[] | undefined,
): Promise<RouteSource[]> {
  const sources = await loadRoutes(root, container);
  if (given === undefined) return sources;
  return [
    { entries: given, stack: "web", prefix: "", respondsWithJson: false, file: "createApplication({ routes })" },
    ...sources,
  ];
}
