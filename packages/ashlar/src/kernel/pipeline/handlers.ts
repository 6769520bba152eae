import type { HttpContext } from "../../http/index.ts";
import type { CompiledRoute, RedirectAction, ViewAction } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { Container } from "../container.ts";
import type { Run } from "./pipeline.ts";
import "../../routing/index.ts";

type Controller = Readonly<Record<string, (context: HttpContext) => unknown>>;

/**
 * Turns the handlers that routes name into functions.
 *
 * Each controller class is instantiated once, at boot, by the container. The instance serves all requests concurrently,
 * so it must not keep anything of a request in its fields.
 */
export class Handlers {
  readonly #container: Container;
  readonly #controllers = new Map<unknown, Controller>();

  constructor(container: Container) {
    this.#container = container;
  }

  /**
   * Returns the function that handles a route.
   *
   * @throws `E_INVALID_ROUTE` for a page in an application without views
   */
  of(route: CompiledRoute): Run {
    const { handler } = route;
    if (typeof handler === "function") return handler;
    if ("kind" in handler) return handler.kind === "view" ? this.#view(handler) : redirect(handler);
    const [controllerClass, method] = handler;
    const controller = this.#controller(controllerClass as new (container: Container) => object);
    return (context) => controller[method]!(context);
  }

  #controller(controllerClass: new (container: Container) => object): Controller {
    let controller = this.#controllers.get(controllerClass);
    if (controller === undefined) {
      controller = new controllerClass(this.#container) as Controller;
      this.#controllers.set(controllerClass, controller);
    }
    return controller;
  }

  #view({ template, data }: ViewAction): Run {
    if (!this.#container.has("routes.view")) {
      throw new AshlarError(
        "E_INVALID_ROUTE",
        `the page "${template}" needs views. Add ViewProvider to PROVIDERS in config/providers.ts.`,
      );
    }
    const render = this.#container.make("routes.view");
    return (context) => render(context, template, data);
  }
}

function redirect({ to, status }: RedirectAction): Run {
  return (context) => context.response.header("location", to).status(status);
}
