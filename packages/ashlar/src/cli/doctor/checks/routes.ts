import { isTokenEndpoint, JWTAuthenticationMiddleware } from "../../../api/index.ts";
import { LoadUserMiddleware } from "../../../auth/index.ts";
import type { CompiledRoute } from "../../../routing/index.ts";
import { linesFor } from "../../../scaffold/index.ts";
import { SessionMiddleware, VerifyCsrfToken } from "../../../session/index.ts";
import { type Check, error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const UNSAFE: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const OFF_STACK = '.withoutMiddleware("web")';

/** The routes as the application matches them: CSRF protection, and the stack that each should be on. */
export const ROUTES: Check = {
  name: "Routes",
  needsBoot: true,
  run(subject: Subject): Finding[] {
    return subject.boot.application!.router.routes.flatMap((route) => routeFindings(subject, route));
  },
};

function routeFindings(subject: Subject, route: CompiledRoute): Finding[] {
  const runs = (middleware: object): boolean =>
    route.middleware.some((text) => subject.stackHas(nameOf(text), middleware));
  const label = `${route.methods.join("|")} ${route.pattern}`;
  const place = subject.placeOf(route.location);
  const findings: Finding[] = [];
  const isOnWeb = route.middleware.includes("web");
  const isOnApi = route.middleware.includes("api");
  const hasSessions = subject.boot.application!.container.has("session");
  const isUnsafe = route.methods.some((method) => UNSAFE.has(method));
  const checksTokens = runs(JWTAuthenticationMiddleware);

  if (isUnsafe && hasSessions && !runs(VerifyCsrfToken) && !isTokenEndpoint(route)) {
    const usesCookies = runs(SessionMiddleware) || (runs(LoadUserMiddleware) && !checksTokens);
    if (usesCookies) {
      const problem = `${label} runs with the visitor's session, and without VerifyCsrfToken: any site can make a visitor's browser send it.`;
      findings.push(error("routes.csrf", { ...place, problem, ...csrfRemedy(subject) }));
    } else if (!isOnWeb && !isOnApi && !checksTokens) {
      const problem = `${label} is on neither stack: no CSRF token and no API token is checked.`;
      const note =
        "If another program calls the route, such as a payment service, leave it on the stack web and name it in " +
        "except of a class that extends VerifyCsrfToken.";
      findings.push(warning("routes.stack", { ...place, problem, remove: OFF_STACK, note }));
    }
  }
  if (isOnWeb && !checksTokens && route.middleware.includes("guard:jwt")) {
    const problem = `${label} is for API clients (guard:jwt), and on the stack web: it asks them for a session and a CSRF token.`;
    findings.push(warning("routes.api", { ...place, problem, note: moving("routes/web.ts", "routes/api.ts") }));
  }
  if (isOnApi && isPage(route)) {
    const problem = `${label} is a page, and on the stack api: it has no session, no logged-in user and no CSRF token.`;
    findings.push(warning("routes.page", { ...place, problem, note: moving("routes/api.ts", "routes/web.ts") }));
  }
  return findings;
}

function csrfRemedy(subject: Subject): { in?: string; lines?: string[]; remove?: string; note?: string } {
  if (subject.stackHas("web", VerifyCsrfToken)) {
    return { remove: OFF_STACK, note: "The route needs the whole stack web, which has VerifyCsrfToken." };
  }
  const { file, lines } = linesFor("pages", "web");
  return { in: file, lines: [...lines] };
}

function moving(from: string, to: string): string {
  return `Move the line from ROUTES of ${from} to ROUTES of ${to}.`;
}

/** A template, a page of an account, or a handler behind the pages' own middleware. */
function isPage({ handler, middleware }: CompiledRoute): boolean {
  const isView = typeof handler === "object" && "kind" in handler && handler.kind === "view";
  return isView || middleware.some((text) => nameOf(text) === "auth.page");
}

function nameOf(text: string): string {
  const colon = text.indexOf(":");
  return colon === -1 ? text : text.slice(0, colon);
}
