import type { SourceLocation } from "../../support/index.ts";
import type { MiddlewareName } from "../middleware-name.ts";
import type { BodyLimit } from "./body-limit.ts";
import type { RouteAction } from "./controller-action.ts";
import { markAction, type RouteMark } from "./route-mark.ts";

/** The resource that a route was created for. */
export interface ResourceOrigin {
  readonly builder: "api" | "resource";
  /** The resource's name, as written in the routes file: `users.orders`. */
  readonly resource: string;
  readonly action: string;
}

/** Everything that a routes file declares about a route. */
export interface RouteAttributes {
  /** The path as written, which is checked when a router is created. */
  readonly methods: readonly string[];
  readonly path: string;
  readonly action: RouteAction;
  readonly name: string | null;
  /** Outermost first. */
  readonly middleware: readonly string[];
  readonly withoutMiddleware: readonly string[];
  readonly domain: string | null;
  /** `null` if its routes file decides. */
  readonly respondsWithJson: boolean | null;
  /** As written; `null` if the application's limits apply. */
  readonly bodyLimit: BodyLimit | null;
  /** Whether the handler streams the body; default: `false`. */
  readonly streamsBody?: boolean;
  /** Whether the handler streams the files of a form; default: `false`. */
  readonly streamsFiles?: boolean;
  readonly location: SourceLocation;
  /** The resource that the route was created for; `null` if it was defined individually. */
  readonly origin: ResourceOrigin | null;
  /**
   * Whether the route is a well-known address (RFC 8615 §3). It is then at the root of the host, whatever its group's
   * prefix is, and is omitted if the application has its own route there.
   */
  readonly isWellKnown?: boolean;
  /** Whether the route is omitted if the application has its own route at this path for one of its methods. */
  readonly isReplaceable?: boolean;
  /** How a feature made the route; `null` if it is the application's own. */
  readonly mark?: RouteMark | null;
  /** A problem with the definition, which is reported later, together with all others. */
  readonly problem: string | null;
}

/** The attributes of a route without any options. */
export function plainRoute(
  methods: readonly string[],
  path: string,
  action: RouteAction,
  location: SourceLocation,
): RouteAttributes {
  return {
    methods,
    path,
    action,
    name: null,
    middleware: [],
    withoutMiddleware: [],
    domain: null,
    respondsWithJson: null,
    bodyLimit: null,
    location,
    origin: null,
    problem: null,
  };
}

/**
 * One route as a routes file defines it: plain data. Each method returns a new definition and leaves this one unchanged,
 * so a definition can be used in several groups and several applications.
 */
export class RouteDefinition {
  /** The definition's data. */
  readonly attributes: RouteAttributes;

  constructor(attributes: RouteAttributes) {
    this.attributes = Object.freeze(attributes);
  }

  /** Names the route, to create URLs from its name: `.name("orders.show")`. */
  name(name: string): RouteDefinition {
    return this.with({ name });
  }

  /**
   * Adds middleware inside the existing middleware. The first one named is the outermost.
   *
   * With the stack `api`, a route responds with JSON wherever it is defined. The stack removes nothing: in
   * `routes/web.ts`, requests still go through `web`, which refuses a POST without a page's CSRF token. For a route
   * there that takes bearer tokens, remove `web`, or move it to `routes/api.ts`:
   *
   * ```ts
   * Route.post("/upload", ({ request }) => ({ size: request.file("upload")?.size })).middleware("api").withoutMiddleware("web")
   * ```
   *
   * @param names names of the kernel's `routeMiddleware`, with arguments after a colon: `guard:jwt`
   */
  middleware<Name extends string>(...names: MiddlewareName<Name>[]): RouteDefinition {
    return this.with({ middleware: [...this.attributes.middleware, ...names] });
  }

  /**
   * Removes middleware that a group or the routes file adds, including its stack (`web`, `api`).
   *
   * @param names exact texts (`guard:jwt`), or names (`guard` removes `guard:jwt` and every other `guard:…`)
   */
  withoutMiddleware(...names: string[]): RouteDefinition {
    return this.with({ withoutMiddleware: [...this.attributes.withoutMiddleware, ...names] });
  }

  /**
   * Limits the route to a host.
   *
   * @param pattern a subdomain (`api`, `@account`) or a complete host (`@account.example.com`); `@name` captures one label
   * as a parameter
   */
  domain(pattern: string): RouteDefinition {
    return this.with({ domain: pattern });
  }

  /** Makes the route respond with JSON, errors included, whatever the client accepts. */
  respondsWithJson(): RouteDefinition {
    return this.with({ respondsWithJson: true });
  }

  /**
   * Sets the size limit of the route's bodies, files included, instead of the application's limits (`APP.limits`, 1
   * MiB). A body is read completely, after the route's `auth`, and after limits that count by address or user. If a
   * form's files exceed `APP.limits.maxFormMemoryBytes`, they are written to disk:
   *
   * ```ts
   * Route.post("/photos", [PhotosController, "store"]).middleware("auth", "throttle:uploads,user").bodyLimit("10mb")
   * ```
   *
   * A larger body gets 413 (`E_PAYLOAD_TOO_LARGE`). `APP.limits.maxFiles` limits the number of files in a form.
   *
   * @param limit bytes, or text with a unit: `"512kb"`, `"10mb"`; up to 2 GiB. With {@link streamsBody} or
   *   {@link streamsFiles}, any size, or `Infinity` for no limit
   */
  bodyLimit(limit: BodyLimit): RouteDefinition {
    return this.with({ bodyLimit: limit });
  }

  /**
   * Leaves the body to the handler, which reads it with `request.bodyStream()` while it arrives. Middleware runs before
   * that, and the only inputs are those of the query. A CSRF token must be in the header `X-CSRF-TOKEN`. The limit is
   * enforced while the body is read.
   *
   * ```ts
   * Route.post("/photos", [PhotosController, "store"]).middleware("auth").streamsBody().bodyLimit("20gb")
   * ```
   *
   * Security: without {@link bodyLimit}, `APP.limits.maxBodyBytes` is the limit, as on any other route.
   */
  streamsBody(): RouteDefinition {
    return this.with({ streamsBody: true });
  }

  /**
   * Leaves the files of a form to the handler, which reads them with `request.parts()` while they arrive. The form's
   * fields before its first file are inputs as usual. Put fields there that the handler needs first, and the CSRF
   * token, unless it is in the header `X-CSRF-TOKEN`. The limit is enforced while the form is read. Bodies that are not
   * forms with files are read as on any other route, within `APP.limits.maxBodyBytes`.
   *
   * ```ts
   * Route.post("/photos", [PhotosController, "store"]).middleware("auth").streamsFiles().bodyLimit("20gb")
   * ```
   *
   * Security: without {@link bodyLimit}, `APP.limits.maxMultipartBytes` is the limit.
   */
  streamsFiles(): RouteDefinition {
    return this.with({ streamsFiles: true });
  }

  /**
   * Records which function of a feature made the route, and the route's current middleware. With that, `ashlar doctor`
   * recognizes the route by its handler, whatever its path and name, and reports a limit that the application has
   * removed.
   *
   * ```ts
   * export const Stock = {
   *   routes: () => [
   *     Route.post("/stock", [StockController, "store"]).middleware("throttle:login").madeBy("Stock.routes"),
   *   ],
   * };
   * declare class StockController { store(): string }
   * ```
   *
   * @param name the function's name, as in the feature's `routes`
   * @param options.countsBy the limit that the handler counts under, without middleware; default: none
   */
  madeBy(name: string, options: { readonly countsBy?: string } = {}): RouteDefinition {
    const { action, middleware } = this.attributes;
    const mark = Object.freeze({ madeBy: name, middleware, countsBy: options.countsBy ?? null });
    markAction(action, mark);
    return this.with({ mark });
  }

  /** @internal A definition like this one, with some attributes changed. */
  with(changes: Partial<RouteAttributes>): RouteDefinition {
    return new RouteDefinition({ ...this.attributes, ...changes });
  }
}
