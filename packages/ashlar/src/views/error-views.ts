import type { HttpContext } from "../http/index.ts";
import type { ErrorPageValues, ErrorTemplates } from "../kernel/index.ts";
import type {} from "./view-provider.ts";
import type { Views } from "./views.ts";

/**
 * The templates of error pages: `views/errors/404.edge` for one status, `views/error.edge` for all others. An
 * application may have any of them, or none.
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
