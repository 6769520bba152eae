import type { QueryParameters, RouteParameters, UrlGenerator } from "../http/index.ts";
import type { Views } from "./views.ts";

/**
 * Renders views for one request: `context.view`.
 *
 * Its templates can make URLs, `route("orders.show", { id: 1 }, { page: 2 })`, and know what was shared for the request.
 */
export class View {
  readonly #views: Views;
  readonly #shared: Record<string, unknown>;

  /**
   * @param views what renders
   * @param urls what the helper `route` makes URLs with
   */
  constructor(views: Views, urls: UrlGenerator) {
    this.#views = views;
    this.#shared = {
      route: (name: string, parameters?: RouteParameters, query?: QueryParameters) => urls.to(name, parameters, query),
    };
  }

  /** Makes a value known to all templates rendered for this request, and to the components they use. */
  share(name: string, value: unknown): this {
    this.#shared[name] = value;
    return this;
  }

  /**
   * Renders a template to HTML, which a handler can return as it is.
   *
   * @param template its name, such as `users/show`
   * @param data values for the template, by name
   * @throws `E_VIEW` where there is no such template, or where it fails
   */
  render(template: string, data: object = {}): Promise<string> {
    return this.#views.render(template, data, this.#shared);
  }
}
