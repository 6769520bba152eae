import type { SourceLocation } from "../support/index.ts";
import type { BodyLimit } from "./body-limit.ts";
import type { RouteAction } from "./controller-action.ts";

/** The resource that a route was made for. */
export interface ResourceOrigin {
  readonly builder: "api" | "resource";
  /** As its author named it: `users.orders`. */
  readonly resource: string;
  readonly action: string;
}

/** Everything a routes file says about one route. */
export interface RouteAttributes {
  /** As written; checked when a router is made of it. */
  readonly methods: readonly string[];
  readonly path: string;
  readonly action: RouteAction;
  readonly name: string | null;
  /** Outermost first. */
  readonly middleware: readonly string[];
  readonly withoutMiddleware: readonly string[];
  readonly domain: string | null;
  /** `null` where the routes file it stands in decides. */
  readonly answersJson: boolean | null;
  /** As written; `null` where the application's limits count. */
  readonly bodyLimit: BodyLimit | null;
  readonly location: SourceLocation;
  /** `null` if it was written by itself. */
  readonly origin: ResourceOrigin | null;
  /**
   * Whether it is a well-known address (RFC 8615 §3): at the root of the host whatever its group's prefix is, and left out
   * if the application has a route of its own there.
   */
  readonly isWellKnown?: boolean;
  /** What was wrong already when the route was written down, to be reported with everything else. */
  readonly problem: string | null;
}

/**
 * One route as a routes file defines it: plain data. Each method returns a new definition and leaves this one alone,
 * so a definition can stand in several groups and several applications.
 */
export class RouteDefinition {
  /** What the definition says. */
  readonly attributes: RouteAttributes;

  constructor(attributes: RouteAttributes) {
    this.attributes = Object.freeze(attributes);
  }

  /** Names the route, so that URLs can be made of it: `.name("orders.show")`. */
  name(name: string): RouteDefinition {
    return this.with({ name });
  }

  /**
   * Adds middleware inside what is there already, the first named outermost.
   *
   * The stack `api` has a route answer JSON wherever it stands, and takes nothing away: in `routes/web.ts` the route goes
   * through `web` as well, which refuses a POST without the token of a page. A route there that takes bearer tokens leaves
   * `web` out, unless you move it to `routes/api.ts`:
   *
   * ```ts
   * Route.post("/upload", ({ request }) => ({ size: request.file("upload")?.size })).middleware("api").withoutMiddleware("web")
   * ```
   *
   * @param names names of the kernel's `routeMiddleware`, with arguments after a colon: `guard:jwt`
   */
  middleware(...names: string[]): RouteDefinition {
    return this.with({ middleware: [...this.attributes.middleware, ...names] });
  }

  /**
   * Takes middleware away that a group or the routes file brings, its stack (`web`, `api`) included.
   *
   * @param names exact texts (`guard:jwt`), or names (`guard` takes away `guard:jwt` and every other `guard:…`)
   */
  withoutMiddleware(...names: string[]): RouteDefinition {
    return this.with({ withoutMiddleware: [...this.attributes.withoutMiddleware, ...names] });
  }

  /**
   * Limits the route to a host.
   *
   * @param pattern a subdomain (`api`, `@account`) or a whole host (`@account.example.com`); `@name` captures one label
   * as a parameter
   */
  domain(pattern: string): RouteDefinition {
    return this.with({ domain: pattern });
  }

  /** Makes the route answer JSON whatever the caller accepts, errors included. */
  answersJson(): RouteDefinition {
    return this.with({ answersJson: true });
  }

  /**
   * Says how large a body the route takes, files included, in place of the application's limits (`APP.limits`, 1 MiB). A
   * body is read into memory as a whole, after the route's `auth`, and after limits that count by address or user:
   *
   * ```ts
   * Route.post("/photos", [PhotosController, "store"]).middleware("auth", "throttle:uploads,user").bodyLimit("10mb")
   * ```
   *
   * A larger body is answered 413 (`E_PAYLOAD_TOO_LARGE`). How many files a form may have says `APP.limits.maxFiles`.
   *
   * @param limit bytes, or text with a unit: `"512kb"`, `"10mb"`
   */
  bodyLimit(limit: BodyLimit): RouteDefinition {
    return this.with({ bodyLimit: limit });
  }

  /** @internal A definition like this one, with some attributes changed. */
  with(changes: Partial<RouteAttributes>): RouteDefinition {
    return new RouteDefinition({ ...this.attributes, ...changes });
  }
}
