import { statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type Application, declareFeature, type EnvironmentName, type Feature, Provider } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { ErrorPageValues, ErrorTemplates } from "../kernel/index.ts";
import { type FileVersions, fileVersions } from "../server/index.ts";
import { AshlarError, ConfigurationError } from "../support/index.ts";
import { type View, Views, viewOf } from "./views.ts";
import "../routing/index.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Renders templates. */
    views: Views;
  }
}

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Renders templates for this request. */
    readonly view: View;
  }
}

declare module "../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * The absolute paths of template folders, by the name used to render them: `stock::left` is `left.edge` in the
     * folder `stock`.
     */
    readonly views?: Readonly<Record<string, string>>;
  }
}

/**
 * Adds views to the application. Its templates are in `views/`. They are compiled once, or at each rendering in
 * development.
 *
 * An error page is rendered with `views/errors/404.edge`, named after the status, or else with `views/error.edge`, if
 * either exists. The template's values are `status`, `title`, `message`, `problems`, `reference` and `formPage`.
 *
 * Every template can create the URL of a file in `public/` with `asset("style.css")`, and of a path with `url("/")`. It
 * also has the visitor's `language`, the language's `direction`, `ltr` or `rtl`, and its sentences:
 * `t("app.orders.count", { count: 2 })`.
 */
export class ViewProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "views",
    services: {
      views: (application) => createViews(application),
      "routes.view":
        () =>
        ({ view }, template, data) =>
          view.render(template, data),
    },
    context: { view: viewOf },
  });

  override boot(): void {
    const views = this.application.container.make("views");
    this.application.serving.errorTemplates = new ErrorViews(views, isCached(this.application.environment));
  }

  /** @throws `E_INVALID_ROUTE` for each `Route.view` with a missing template, with the route's location */
  override ready(): void {
    const { container, router } = this.application;
    const views = container.make("views");
    const problems = router.routes.flatMap((route) => {
      const { handler } = route;
      if (typeof handler === "function" || !("kind" in handler) || handler.kind !== "view") return [];
      try {
        views.requireTemplate(handler.template);
        return [];
      } catch (error) {
        // The location is read only now, because reading it from a stack is slow.
        return [`${route.location}: GET ${route.pattern}: ${(error as Error).message}`];
      }
    });
    if (problems.length > 0) throw new AshlarError("E_INVALID_ROUTE", problems.join("\n"));
  }
}

function createViews({ environment, features, messages, root, settings }: Application): Views {
  const cache = isCached(environment);
  const views = new Views({ directory: join(root, "views"), cache });
  for (const { feature, provider } of features) {
    for (const [name, folder] of Object.entries(feature.views ?? {})) {
      requireFolder(folder, `${provider}.feature.views.${name}`);
      views.mount(name, folder);
    }
  }
  views.share("asset", assetUrls(join(root, "public"), cache, settings.basePath));
  views.share("language", messages.defaultLanguage);
  views.share("direction", messages.directions.get(messages.defaultLanguage));
  views.share("t", messages.translator(messages.defaultLanguage));
  return views;
}

/**
 * @param place where the folder is declared
 * @throws `E_INVALID_CONFIGURATION` if the folder is missing, or its path isn't absolute
 */
function requireFolder(folder: string, place: string): void {
  if (isAbsolute(folder) && statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const problem = isAbsolute(folder) ? `there is no folder ${folder}.` : `"${folder}" is not an absolute path.`;
  const remedy = 'Write join(import.meta.dirname, "views"), and make sure that the package contains the templates.';
  throw new ConfigurationError(place, problem, remedy);
}

/** Whether templates are cached. They change while the server is running only in development. */
function isCached(environment: EnvironmentName): boolean {
  return environment !== "development";
}

/**
 * The templates of error pages: `views/errors/404.edge` for one status, `views/error.edge` for all others. All of them
 * are optional.
 */
export class ErrorViews implements ErrorTemplates {
  readonly #views: Views;
  /** The templates by status; `null` if templates may be added and removed. */
  readonly #found: Map<number, string | null> | null;

  /** @param cache whether results are remembered */
  constructor(views: Views, cache: boolean) {
    this.#views = views;
    this.#found = cache ? new Map() : null;
  }

  find(status: number): string | null {
    const known = this.#found?.get(status);
    if (known !== undefined) return known;
    const found = [`errors/${status}`, "error"].find((template) => this.#views.hasTemplate(template)) ?? null;
    this.#found?.set(status, found);
    return found;
  }

  render(context: HttpContext, template: string, values: ErrorPageValues): Promise<string> {
    return context.view.render(template, values);
  }
}

/**
 * Creates the URLs of an application's own files, with a fingerprint of their content: `/style.css?v=1f0e5c2a9b`. A
 * browser can cache such a URL forever, because a changed file has a different URL.
 *
 * @param folder the absolute path of `public/`
 * @param cache whether each file is read only once, rather than each time it is used
 * @param basePath the path of `APP_URL`
 * @returns a function that returns the URL of a path within the folder, without a fingerprint if the file doesn't exist
 */
export function assetUrls(folder: string, cache: boolean, basePath = ""): (path: string) => string {
  const known = new Map<string, string>();
  const versionOf = fileVersions();
  return (path) => {
    const cached = known.get(path);
    if (cached !== undefined) return cached;
    const url = basePath + urlOf(folder, path.replace(/^\/+/, ""), versionOf);
    if (cache) known.set(path, url);
    return url;
  };
}

function urlOf(folder: string, path: string, versionOf: FileVersions): string {
  const url = `/${path.split("/").map(encodeURIComponent).join("/")}`;
  const version = versionOf(join(folder, path));
  // The page is rendered anyway, and the browser reports the missing file.
  return version === null ? url : `${url}?v=${version}`;
}
