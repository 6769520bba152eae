import { type QueryParameters, type RouteParameters, routeLabel } from "../../http/index.ts";
import type { CompiledRoute, Router } from "../../routing/index.ts";
import { ConfigurationError, suggestion } from "../../support/index.ts";
import type { LoginStep } from "../proofs/login-step.ts";
import type { ConfiguredGuards } from "./guard-settings.ts";

/** The paths to which the framework sends visitors if an application has its own pages there, without route names. */
const UNNAMED_PAGES: Readonly<Record<string, string>> = {
  login: "/login",
  home: "/home",
  confirm_password: "/confirm_password",
  "email.verify.notice": "/email/verify/notice",
};

const LOGIN = "login";

/** The middleware that sends visitors to pages, by name, with the pages: guests to the login, users to the other. */
const SENDING: Readonly<Record<string, readonly string[]>> = {
  auth: [LOGIN],
  "password.confirm": [LOGIN, "confirm_password"],
  // It may lead to the page of another proof.
  confirm: [LOGIN],
  verified: [LOGIN, "email.verify.notice"],
};

/**
 * The pages of each guard: the login that guests are sent to, the page that asks for the password, the page that a mail
 * links to. A page has one name, such as `login`, and each guard has a prefix that turns it into the name of a route.
 *
 * The prefix is `GUARDS.<name>.routes`. If that is not set, it is empty for the default guard; another guard `admin`
 * has `admin.` if there is a route `admin.login`, and otherwise uses the default guard's pages.
 */
export class GuardPages {
  readonly #settings: ConfiguredGuards;
  readonly #findRouter: () => Router | null;
  readonly #defaultName: () => string | null;
  #foundRouter: Router | null = null;
  #names: ReadonlySet<string> | null = null;

  /**
   * @param findRouter returns the router; `null` as long as there isn't one
   * @param defaultName returns the name of the guard that a request begins with
   */
  constructor(settings: ConfiguredGuards, findRouter: () => Router | null, defaultName: () => string | null) {
    this.#settings = settings;
    this.#findRouter = findRouter;
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

  /** Reports whether a guard has a page, or in an application without pages, the route for the page's form. */
  hasFlow(guard: string, page: string): boolean {
    return this.has(guard, page) || this.has(guard, `${page}.store`);
  }

  /** Reports whether a guard has its own page. Guards without pages use those of the default guard. */
  isOwn(guard: string, page: string): boolean {
    const byDefault = this.#defaultName();
    return (
      this.hasFlow(guard, page) && (byDefault === null || guard === byDefault || !this.isShared(page, guard, byDefault))
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
    const path = this.has(guard, page) ? null : this.#unnamedPath(guard, page);
    const router = this.#router;
    return path === null ? router!.to(this.nameOf(guard, page), parameters, query) : (router?.url(path) ?? path);
  }

  /**
   * Makes sure that the pages to which routes send visitors exist for every guard. Called when the application boots.
   *
   * @throws `E_INVALID_CONFIGURATION`
   */
  check(): void {
    for (const [guard, { routes }] of this.#settings.guards) {
      if (routes === null || this.hasFlow(guard, LOGIN)) continue;
      const problem = `no route is named "${routes}login", where guests are sent.`;
      const remedy = `${suggestion(`${routes}login`, this.#routeNames)} Write routes: "${guard}." for Auth.routes(controllers, { guard: "${guard}" }).`;
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.routes`, problem, remedy.trim());
    }
    for (const [guard, { steps }] of this.#settings.guards) this.#checkSteps(guard, steps);
    for (const route of this.#router?.routes ?? []) this.#checkRoute(route);
  }

  #checkSteps(guard: string, steps: readonly LoginStep[]): void {
    for (const { name, page } of steps) {
      if (page === undefined || this.has(guard, page)) continue;
      const problem = `the login step "${name}" leads to the route "${this.nameOf(guard, page)}", which does not exist.`;
      const remedy = "Give the route of its page this name, or leave page out.";
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.steps`, problem, remedy);
    }
  }

  /**
   * Makes sure that a proof's step has its page, for a guard with a login page. Called when the application boots.
   *
   * @throws `E_INVALID_CONFIGURATION`
   */
  checkProofStep(guard: string, { name, page }: LoginStep): void {
    if (page === undefined || !this.has(guard, LOGIN) || this.has(guard, page)) return;
    const route = this.nameOf(guard, page);
    const problem = `the step of the proof "${name}" leads to the route "${route}", which does not exist.`;
    const remedy = `${suggestion(route, this.#routeNames)} Add the feature's routes to ROUTES, and give its page this name.`;
    throw new ConfigurationError(`routes of the guard "${guard}"`, problem, remedy.trim());
  }

  /** A route that answers with JSON refuses requests instead of sending visitors to a page. */
  #checkRoute(route: CompiledRoute): void {
    const { middleware, respondsWithJson } = route;
    if (respondsWithJson) return;
    const names = middleware.map((entry) => entry.split(":"));
    const named = names.findLast(([name, argument]) => /^(?:auth|guard)$/.test(name!) && argument !== undefined)?.[1];
    const guard = named ?? this.#defaultName();
    if (guard === null) return;
    // Only the driver `web` has pages; a guard of another driver may share those of the default guard.
    if (this.#prefixOf(guard) === "" && this.#settings.guards.get(guard)?.driver !== "web") return;
    for (const [name] of names) {
      const pages = Object.hasOwn(SENDING, name!) ? SENDING[name!]! : [];
      const missing = pages.find((page) => !this.#exists(guard, page));
      if (missing === undefined) continue;
      const problem = `"${name}" sends ${missing === LOGIN ? "guests" : "users"} of the guard "${guard}" to ${this.#place(guard, missing)}`;
      throw new ConfigurationError(routeLabel(route), problem, this.#remedy(guard, missing, name!));
    }
  }

  /** Reports whether a page is a named route, or is at the framework's path. */
  #exists(guard: string, page: string): boolean {
    const path = this.#unnamedPath(guard, page);
    if (this.has(guard, page) || path === null) return this.has(guard, page);
    const router = this.#router!;
    // A page may exist on only one host, and at boot, the host isn't known.
    return router.match("GET", path, null) !== null || router.routes.some((route) => route.pattern === path);
  }

  #unnamedPath(guard: string, page: string): string | null {
    const name = this.nameOf(guard, page);
    return Object.hasOwn(UNNAMED_PAGES, name) ? UNNAMED_PAGES[name]! : null;
  }

  #place(guard: string, page: string): string {
    const path = this.#unnamedPath(guard, page);
    const route = `the route "${this.nameOf(guard, page)}"`;
    return path === null ? `${route}, which does not exist.` : `${route} or to ${path}, and neither exists.`;
  }

  #remedy(guard: string, page: string, middleware: string): string {
    const other = [...this.#routeNames].find((name) => name.endsWith(`.${page}`));
    const prefix = other?.slice(0, -page.length);
    const isGuards = prefix !== undefined && !this.#settings.guards.has(prefix.slice(0, -1));
    const byPrefix = `Write routes: "${prefix}" in GUARDS.${guard}, for the route "${other}". Or give`;
    return `${isGuards ? byPrefix : "Give"} a route this name, leave "${middleware}" out, or let this route answer with JSON: .respondsWithJson().`;
  }

  #prefixOf(guard: string): string {
    const routes = this.#settings.guards.get(guard)?.routes ?? null;
    if (routes !== null) return routes;
    const byDefault = this.#defaultName();
    if (guard === byDefault || byDefault === null) return "";
    const own = [`${guard}.login`, `${guard}.login.store`];
    return own.some((name) => this.#routeNames.has(name)) ? `${guard}.` : this.#prefixOf(byDefault);
  }

  get #router(): Router | null {
    this.#foundRouter ??= this.#findRouter();
    return this.#foundRouter;
  }

  get #routeNames(): ReadonlySet<string> {
    if (this.#names !== null) return this.#names;
    const router = this.#router;
    if (router === null) return new Set();
    this.#names = new Set(router.routes.flatMap(({ name }) => (name === null ? [] : [name])));
    return this.#names;
  }
}
