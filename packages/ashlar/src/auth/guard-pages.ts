import type { QueryParameters, RouteParameters } from "../http/index.ts";
import type { CompiledRoute, Router } from "../routing/index.ts";
import { ConfigurationError, suggestion } from "../support/index.ts";
import type { LoginStep } from "./pipeline/login-step.ts";
import type { CompleteAuthSettings } from "./settings.ts";

/** The paths to which the framework sends visitors if an application has its own pages there, without route names. */
const UNNAMED_PAGES: Readonly<Record<string, string>> = {
  login: "/login",
  home: "/home",
  confirm_password: "/confirm_password",
  "email.verify.notice": "/email/verify/notice",
};

/** The middleware that sends visitors to a page, by name, with the page. */
const SENDING: Readonly<Record<string, string>> = {
  "password.confirm": "confirm_password",
  verified: "email.verify.notice",
};

/**
 * The pages of each guard: the login that guests are sent to, the page that asks for the password, the page that a mail
 * links to. A page has one name, such as `login`, and each guard has a prefix that turns it into the name of a route.
 *
 * The prefix is `GUARDS.<name>.routes`. If that is not set, it is empty for the default guard; another guard `admin`
 * has `admin.` if there is a route `admin.login`, and otherwise uses the default guard's pages.
 */
export class GuardPages {
  readonly #settings: CompleteAuthSettings;
  readonly #router: () => Router | null;
  readonly #defaultName: () => string | null;
  #names: ReadonlySet<string> | null = null;

  /**
   * @param router returns the router; `null` as long as there is none
   * @param defaultName returns the name of the guard that a request begins with
   */
  constructor(settings: CompleteAuthSettings, router: () => Router | null, defaultName: () => string | null) {
    this.#settings = settings;
    this.#router = router;
    this.#defaultName = defaultName;
  }

  /** The name of the route of a guard's page, whether or not the route exists. */
  nameOf(guard: string, page: string): string {
    return this.#prefixOf(guard) + page;
  }

  /** Reports whether a guard's page is a named route. */
  has(guard: string, page: string): boolean {
    return this.#routeNames.has(this.nameOf(guard, page));
  }

  /** Reports whether a guard has its own page. Guards without pages use those of the default guard. */
  isOwn(guard: string, page: string): boolean {
    const byDefault = this.#defaultName();
    return (
      this.has(guard, page) && (byDefault === null || guard === byDefault || !this.isShared(page, guard, byDefault))
    );
  }

  /** Reports whether two guards share a page, so that a link to it may be about a user of either. */
  isShared(page: string, guard: string, other: string): boolean {
    return guard === other || this.nameOf(guard, page) === this.nameOf(other, page);
  }

  /**
   * The URL of a guard's page.
   *
   * @throws `E_UNKNOWN_ROUTE` if the page doesn't exist; and as {@link Router.to}
   */
  to(guard: string, page: string, parameters?: RouteParameters, query?: QueryParameters): string {
    const name = this.nameOf(guard, page);
    const path = Object.hasOwn(UNNAMED_PAGES, name) && !this.has(guard, page) ? UNNAMED_PAGES[name] : undefined;
    return path ?? this.#router()!.to(name, parameters, query);
  }

  /**
   * Makes sure that the pages to which routes send visitors exist for every guard. Called when the application boots.
   *
   * @throws `E_INVALID_CONFIGURATION`
   */
  check(): void {
    for (const [guard, { routes }] of this.#settings.guards) {
      if (routes === null || routes === "" || this.has(guard, "login")) continue;
      const problem = `no route is named "${routes}login", where guests are sent.`;
      const remedy = `${suggestion(`${routes}login`, this.#routeNames)} Write routes: "${guard}." for Auth.routes(controllers, { guard: "${guard}" }).`;
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.routes`, problem, remedy.trim());
    }
    for (const [guard, { steps }] of this.#settings.guards) this.#checkSteps(guard, steps);
    for (const route of this.#router()?.routes ?? []) this.#checkRoute(route);
  }

  #checkSteps(guard: string, steps: readonly LoginStep[]): void {
    for (const { name, page } of steps) {
      if (page === undefined || this.has(guard, page)) continue;
      const problem = `the login step "${name}" leads to the route "${this.nameOf(guard, page)}", which does not exist.`;
      const remedy = "Give the route of its page this name, or leave page out.";
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.steps`, problem, remedy);
    }
  }

  /** Guards without a prefix may have pages under the framework's own paths, named or not. */
  #checkRoute({ middleware, methods, pattern }: CompiledRoute): void {
    const names = middleware.map((entry) => entry.split(":"));
    const guard = names.findLast(([name, argument]) => /^(?:auth|guard)$/.test(name!) && argument !== undefined)?.[1];
    if (guard === undefined || this.#prefixOf(guard) === "") return;
    for (const [name] of names) {
      const page = Object.hasOwn(SENDING, name!) ? SENDING[name!]! : null;
      if (page === null || this.has(guard, page)) continue;
      const problem = `"${name}" sends users of the guard "${guard}" to the route "${this.nameOf(guard, page)}", which does not exist.`;
      throw new ConfigurationError(
        `${methods.join("|")} ${pattern}`,
        problem,
        `Give a route this name, or leave "${name}" out.`,
      );
    }
  }

  #prefixOf(guard: string): string {
    const routes = this.#settings.guards.get(guard)?.routes ?? null;
    if (routes !== null) return routes;
    const byDefault = this.#defaultName();
    if (guard === byDefault || byDefault === null) return "";
    return this.#routeNames.has(`${guard}.login`) ? `${guard}.` : this.#prefixOf(byDefault);
  }

  get #routeNames(): ReadonlySet<string> {
    const router = this.#router();
    if (this.#names !== null || router === null) return this.#names ?? new Set();
    this.#names = new Set(router.routes.flatMap(({ name }) => (name === null ? [] : [name])));
    return this.#names;
  }
}
