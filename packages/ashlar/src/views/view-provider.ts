import { join } from "node:path";
import { Provider } from "../foundation/index.ts";
import { View } from "./view.ts";
import { Views } from "./views.ts";

declare module "../foundation/container.ts" {
  interface Services {
    /** Renders templates. */
    views: Views;
  }
}

declare module "../http/context.ts" {
  interface HttpContext {
    /** Renders templates for this request. */
    readonly view: View;
  }
}

/** Brings views into the application: its templates are in `views/`, compiled once in production. */
export class ViewProvider extends Provider {
  override register(): void {
    const { container, root, environment } = this.application;
    container.singleton("views", () => {
      return new Views({ directory: join(root, "views"), cache: environment === "production" });
    });
  }

  override boot(): void {
    const views = this.application.container.make("views");
    this.application.contextProperty("view", (context) => new View(views, context.services.urls));
  }
}
