import type { HttpContext } from "../http/index.ts";
import { RequestValues, type Views } from "./views.ts";

/**
 * Renders views for one request: `context.view`.
 *
 * Its templates can make URLs, `route("orders.show", { id: 1 }, { page: 2 })`, know the request's `user`, as far as the
 * guard in force has loaded one, and whatever else was shared for the request.
 */
export class View {
  readonly #views: Views;
  /** What the templates of this request know. */
  readonly #values: RequestValues;

  /**
   * @param views what renders
   * @param context the request's
   */
  constructor(views: Views, context: HttpContext) {
    this.#views = views;
    this.#values = new RequestValues(context);
  }

  /** Makes a value, or several by their names, known to all templates rendered for this request and their components. */
  share(values: Readonly<Record<string, unknown>>): this;
  share(name: string, value: unknown): this;
  share(values: string | Readonly<Record<string, unknown>>, value?: unknown): this {
    if (typeof values === "string") this.#values.shared[values] = value;
    else Object.assign(this.#values.shared, values);
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
    return this.#views.render(template, data, this.#values);
  }
}
