import type { HttpContext } from "../http/index.ts";
import { RequestValues, type Views } from "./views.ts";

/**
 * Renders views for one request: `context.view`.
 *
 * Its templates can make URLs, `route("orders.show", { id: 1 }, { page: 2 })`, know the request's `user` if the active
 * guard has loaded one, and have everything that was shared for the request.
 */
export class View {
  readonly #views: Views;
  /** The values that this request's templates see. */
  readonly #values: RequestValues;

  /**
   * @param views renders the templates
   * @param context the request's context
   */
  constructor(views: Views, context: HttpContext) {
    this.#views = views;
    this.#values = new RequestValues(context);
  }

  /** Shares a value, or several by name, with all templates rendered for this request and their components. */
  share(values: Readonly<Record<string, unknown>>): this;
  share(name: string, value: unknown): this;
  share(values: string | Readonly<Record<string, unknown>>, value?: unknown): this {
    this.#values.share(typeof values === "string" ? { [values]: value } : values);
    return this;
  }

  /**
   * Renders a template to HTML, which a handler can return directly.
   *
   * @param template its name, such as `users/show`
   * @param data values for the template, by name
   * @throws `E_VIEW` if the template doesn't exist, or fails
   */
  render(template: string, data: object = {}): Promise<string> {
    return this.#views.render(template, data, this.#values);
  }
}
