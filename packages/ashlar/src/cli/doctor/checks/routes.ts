import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { JWTAuthenticationMiddleware } from "../../../api/index.ts";
import { LoadUserMiddleware } from "../../../auth/index.ts";
import { routeLabel } from "../../../http/index.ts";
import type { CompiledRoute } from "../../../routing/index.ts";
import { linesFor } from "../../../scaffold/index.ts";
import { SessionMiddleware, VerifyCsrfToken } from "../../../session/index.ts";
import { hasPages, isMadeBy, nameOf } from "../features.ts";
import { type Check, error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const UNSAFE: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const OFF_STACK = '.withoutMiddleware("web")';
/** The functions that make routes for clients without a session. */
const TOKEN_ROUTES: readonly string[] = ["Api.routes", "LoginLinks.tokens", "Passkeys.tokens"];

/** Checks the application's routes for CSRF protection, and for the right stack. */
export const ROUTES: Check = {
  name: "Routes",
  needsBoot: true,
  run(subject: Subject): Finding[] {
    const { routes } = subject.boot.application!.router;
    return [...webFindings(subject, routes), ...routes.flatMap((route) => routeFindings(subject, route))];
  },
};

/**
 * If the stack web lacks something, so do all of its routes. This is a single finding, or the account pages' finding.
 */
function webFindings(subject: Subject, routes: readonly CompiledRoute[]): Finding[] {
  const open = routes.filter((route) => isOnWeb(route) && lacksCsrfProtection(subject, route));
  if (open.length === 0 || (hasPages(subject) && subject.routeMiddleware !== null)) return [];
  const { file, lines } = linesFor("pages", "web");
  const all = open.map(routeLabel).join(", ");
  const problem = `The stack web has no VerifyCsrfToken, so any site can make a visitor's browser send: ${all}.`;
  return [error("routes.csrf", { file, problem, lines })];
}

function routeFindings(subject: Subject, route: CompiledRoute): Finding[] {
  const label = routeLabel(route);
  const place = subject.placeOf(route.location);
  const findings: Finding[] = [];
  const checksTokens = runs(subject, route, JWTAuthenticationMiddleware);
  const isOnStack = isOnWeb(route) || isOnApi(route);

  if (!isOnWeb(route) && lacksCsrfProtection(subject, route)) {
    const problem = `${label} runs with the visitor's session, and without VerifyCsrfToken: any site can make a visitor's browser send it.`;
    findings.push(error("routes.csrf", { ...place, problem, ...protecting(subject, route) }));
  } else if (!isOnStack && !checksTokens && needsProtection(subject, route)) {
    const problem = `${label} is on neither stack: no CSRF token and no API token is checked.`;
    const removal = onWeb(subject, route);
    const note =
      (removal.remove === undefined ? "Put the route back on the stack web. " : "") +
      "If another system calls the route, such as a payment service, leave it on the stack web and name it in " +
      "except of a class that extends VerifyCsrfToken.";
    findings.push(warning("routes.stack", { ...place, problem, ...removal, note }));
  }
  if (isOnWeb(route) && !checksTokens) findings.push(...misplacedFindings(subject, route));
  if (isOnApi(route) && isPage(route)) {
    const problem = `${label} is a page, and on the stack api: it has no session, no logged-in user and no CSRF token.`;
    findings.push(warning("routes.page", { ...place, problem, note: `${moving("routes/api.ts", "routes/web.ts")}.` }));
  }
  return findings;
}

/** The fix for a route that uses the visitor's session, but isn't on the stack web. */
function protecting(subject: Subject, route: CompiledRoute): Partial<Parameters<typeof error>[1]> {
  if (!isOnApi(route)) {
    return { ...onWeb(subject, route), note: "The route needs the whole stack web, with VerifyCsrfToken." };
  }
  // The stack's own session is useless, because API clients store no cookies.
  if (subject.stackHas("api", SessionMiddleware)) {
    return { in: "app/kernel.ts", lines: ["// in routeMiddleware:", "api: [JWTAuthenticationMiddleware],"] };
  }
  return { note: `${moving("routes/api.ts", "routes/web.ts")}.` };
}

/** The fix that puts a route back on the stack web: the text to remove, if it is on the route's own line. */
function onWeb(subject: Subject, route: CompiledRoute): { readonly remove?: string } {
  const { file, line } = subject.placeOf(route.location);
  if (file === null || line === null) return {};
  const path = [resolve(subject.root, file), resolve(file)].find(existsSync);
  const lines = path === undefined ? [] : readFileSync(path, "utf8").split("\n");
  return lines[line - 1]?.includes(OFF_STACK) ? { remove: OFF_STACK } : {};
}

/** Finds routes for API clients among the routes for pages. */
function misplacedFindings(subject: Subject, route: CompiledRoute): Finding[] {
  const prefix = apiPrefixOf(subject);
  const isUnder = prefix !== null && `${route.pattern}/`.startsWith(`${prefix}/`);
  const named = route.middleware.find((name) => name === "guard:jwt" || name === "auth:jwt");
  const isForClients = named !== undefined;
  if (!isForClients && !(isUnder && !isPage(route) && !isTokenEndpoint(route))) return [];
  const reason = isForClients
    ? `is for API clients (${named}), and`
    : `is under ${prefix}, as the API's routes are, but`;
  const problem = `${routeLabel(route)} ${reason} on the stack web: it asks API clients for a session and a CSRF token.`;
  const to = moving("routes/web.ts", "routes/api.ts");
  const path = isUnder ? route.pattern.slice(prefix.length) || "/" : null;
  const moved = path === null ? `${to}.` : `${to}, which puts ${prefix} before its path: write ${path} there.`;
  const note = isForClients ? moved : `${moved} If only your own pages send it, choose another path.`;
  return [warning("routes.api", { ...subject.placeOf(route.location), problem, note })];
}

/** The prefix of all paths in `routes/api.ts`; `null` if there isn't one. */
function apiPrefixOf({ bindings }: Subject): string | null {
  if (!bindings?.has("routes.api.location") || !bindings.has("routes.api.prefix")) return null;
  const prefix = `/${bindings.make("routes.api.prefix")}`.replace(/^\/+/, "/").replace(/\/+$/, "");
  return prefix === "" ? null : prefix;
}

/** Whether a route issues tokens to API clients, who have no session. */
function isTokenEndpoint(route: CompiledRoute): boolean {
  return TOKEN_ROUTES.some((name) => isMadeBy(route, name));
}

/** Whether a route changes something, in an application with sessions. */
function needsProtection(subject: Subject, route: CompiledRoute): boolean {
  return (
    route.methods.some((method) => UNSAFE.has(method)) &&
    subject.boot.application!.container.has("session") &&
    !isTokenEndpoint(route) &&
    !runs(subject, route, VerifyCsrfToken)
  );
}

function lacksCsrfProtection(subject: Subject, route: CompiledRoute): boolean {
  if (!needsProtection(subject, route)) return false;
  const loadsUser = runs(subject, route, LoadUserMiddleware) && !runs(subject, route, JWTAuthenticationMiddleware);
  return runs(subject, route, SessionMiddleware) || loadsUser;
}

/** Reports whether middleware of a class runs before a route's handler. */
function runs(subject: Subject, { middleware }: CompiledRoute, type: object): boolean {
  return middleware.some((text) => subject.stackHas(nameOf(text), type));
}

function isOnWeb({ middleware }: CompiledRoute): boolean {
  return middleware.includes("web");
}

function isOnApi({ middleware }: CompiledRoute): boolean {
  return middleware.includes("api");
}

function moving(from: string, to: string): string {
  return `Move the line from ROUTES of ${from} to ROUTES of ${to}`;
}

/** Whether a route renders a template, or runs behind the account pages' own middleware. */
function isPage({ handler, middleware }: CompiledRoute): boolean {
  const isView = typeof handler === "object" && "kind" in handler && handler.kind === "view";
  return isView || middleware.some((text) => nameOf(text) === "auth.page");
}
