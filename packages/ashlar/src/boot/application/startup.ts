import { CorsMiddleware, withoutBase } from "../../http/index.ts";
import { beginApplication, declareErrorMessages, entryOf, type HttpKernel, runFor } from "../../kernel/index.ts";
import type { LanguageFile } from "../../messages/index.ts";
import { ownCompilers, Router } from "../../routing/index.ts";
import { KeyPurpose, Signer } from "../../security/index.ts";
import { AshlarError, type SetupProblems } from "../../support/index.ts";
import { warnOfUnsafeEnvironment } from "../environment/unsafe-environment.ts";
import type { Application } from "./application.ts";
import type { BootOptions } from "./create-application.ts";
import type { Providers } from "./providers.ts";
import type { Prepared } from "./serving.ts";

const SIGNED_URL = new KeyPurpose("signed-url");

/** The dependencies of a {@link Startup}. */
export interface StartupDependencies {
  readonly application: Application;
  readonly providers: Providers;
  /** The files of `lang/`. */
  readonly languageFiles: readonly LanguageFile[];
  /** Whether a command only inspects the application. */
  readonly isInspected: boolean;
  /** Starts to serve requests. */
  readonly open: (prepared: Prepared) => void;
}

/** Starts an application: bindings first, then routes, then code that uses both, then the pipelines. */
export class Startup {
  readonly #dependencies: StartupDependencies;
  #problems: SetupProblems | null = null;
  #kernel: HttpKernel | null = null;
  #router: Router | null = null;

  constructor(dependencies: StartupDependencies) {
    this.#dependencies = dependencies;
  }

  /** See {@link Application.isInspected}. */
  get isInspected(): boolean {
    return this.#dependencies.isInspected || this.#problems?.any === true;
  }

  /** See {@link Application.router}. */
  get router(): Router {
    if (this.#router !== null) return this.#router;
    throw new AshlarError(
      "E_UNKNOWN_SERVICE",
      "The router is not available yet: use it in a provider's boot(), not in register().",
    );
  }

  /** See {@link Application.usesMiddleware}. */
  usesMiddleware(middleware: object): boolean {
    return this.#kernel !== null && entryOf(this.#kernel, middleware) !== undefined;
  }

  /** @throws one error with all problems of the application's setup */
  async run(options: BootOptions): Promise<void> {
    const { application } = this.#dependencies;
    beginApplication(application);
    await runFor(application, () => this.#run(options));
  }

  async #run(options: BootOptions): Promise<void> {
    const { application, languageFiles, open, providers } = this.#dependencies;
    const { config, container, logger, messages, settings, variables } = application;
    const { problems, publicFolder } = options;
    this.#problems = problems;
    warnOfUnsafeEnvironment(settings, variables, logger);
    const kernel = options.kernel(container);
    this.#kernel = kernel;
    warnOfUnreadableResponses(application);
    container.boundBy(kernel.constructor.name);
    kernel.registerRoutes();
    await providers.register(options.providers, problems);
    declareErrorMessages(messages);
    await problems.run(() => messages.load(languageFiles));
    const router = (await problems.run(() => this.#createRouter(options), "The router")) ?? null;
    this.#router = router;
    await providers.boot(problems);
    // The next steps check routes and what providers have set up. Without these, they would report only follow-up
    // errors.
    if (router === null || problems.hasFailed) throw problems.error;
    this.#warnOfAmbiguousPaths(router);
    await providers.ready(problems);
    await problems.run(() => {
      for (const warning of problems.try(() => config.checkNames()) ?? []) logger.warn(warning);
      open({ kernel, router, publicFolder, checks: providers.checks });
    });
    problems.end();
  }

  async #createRouter({ loadRoutes }: BootOptions): Promise<Router> {
    const { container, linkOrigin, settings } = this.#dependencies.application;
    return new Router(await loadRoutes(container), {
      signer: new Signer(settings.key, SIGNED_URL, { previousSecrets: settings.previousKeys }),
      appUrl: () => linkOrigin.current,
      basePath: settings.basePath,
      compilers: await ownCompilers(container.has("routes.compilers") ? container.make("routes.compilers") : {}),
    });
  }

  /**
   * Warns of routes whose path begins with the base path. Where the base path may be omitted, such a path is read as
   * complete.
   */
  #warnOfAmbiguousPaths({ routes }: Router): void {
    const { logger, settings } = this.#dependencies.application;
    const { basePath } = settings;
    const route = basePath === "" ? undefined : routes.find(({ pattern }) => withoutBase(basePath, pattern) !== null);
    if (route === undefined) return;
    logger.warn(
      `The route ${route.pattern} (${route.location}) begins with ${basePath}, as the path of APP_URL does. Use its name in ` +
        `redirects and links: the path ${basePath}/x means /x of the application there, and not ${basePath}${basePath}/x.`,
    );
  }
}

/** Warns that pages of trusted origins can't read responses, because no CORS middleware permits it. */
function warnOfUnreadableResponses(application: Application): void {
  const { logger, settings } = application;
  const [origin] = settings.trustedOrigins.list;
  if (origin === undefined || application.usesMiddleware(CorsMiddleware)) return;
  logger.warn(
    `Pages of ${origin}, one of APP.trustedOrigins, can't read responses: the kernel lacks CorsMiddleware. In ` +
      'app/kernel.ts, import it from "ashlar", and put it first in httpMiddleware: [CorsMiddleware, IpMiddleware].',
  );
}
