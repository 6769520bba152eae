import { routeLabel } from "../../../http/index.ts";
import type { CompiledRoute } from "../../../routing/index.ts";
import { linesFor } from "../../../scaffold/index.ts";
import { isStrictLimit, limitIn, ThrottleProvider } from "../../../throttle/index.ts";
import { hasApi, hasPages } from "../features.ts";
import { type Check, error, type Finding } from "../finding.ts";
import type { Subject } from "../subject.ts";

/** Checks the limits on attempts. */
export const LIMITS: Check = {
  name: "Limits",
  needsBoot: false,
  run(subject: Subject): Finding[] {
    if (!hasApi(subject) && !hasPages(subject) && !hasLimitedRoute(subject)) return [];
    if (subject.failedSections.has("providers")) return [];
    if (!subject.hasProvider(ThrottleProvider)) {
      const { file, lines } = linesFor("api", "ThrottleProvider");
      const problem = "ThrottleProvider is not in PROVIDERS, so passwords can be guessed without limit.";
      return [error("limits.provider", { file, problem, lines })];
    }
    return routeFindings(subject);
  },
};

function routeFindings(subject: Subject): Finding[] {
  const { application } = subject.boot;
  if (application === null) return [];
  const throttle = application.container.make("throttle");
  return application.router.routes.flatMap((route) => {
    const limit = limitOf(route);
    if (limit === null) return [];
    const origin = `${route.mark!.madeBy}() makes it with ${limit}`;
    const limits = route.middleware.filter((text) => limitIn(text) !== null);
    if (limits.some((given) => isStrictLimit(throttle, given, limit))) return [];
    const place = subject.placeOf(route.location);
    const label = routeLabel(route);
    if (limits.length > 0) {
      const problem = `${label} has no limit but ${limits.join(", ")}, which allows too many attempts: ${origin}.`;
      return [error("limits.route", { ...place, problem, note: `Add .middleware("${limit}") to the route.` })];
    }
    const problem = `${label} has no limit, but ${origin}.`;
    const removed = `.withoutMiddleware("throttle")`;
    const note = `If the line has no ${removed}, add .middleware("${limit}") to the route.`;
    return [error("limits.route", { ...place, problem, remove: removed, note })];
  });
}

function hasLimitedRoute({ boot }: Subject): boolean {
  return boot.application?.router.routes.some((route) => limitOf(route) !== null) ?? false;
}

/**
 * The limit with which a feature created the route, or another route with the same handler; `null` if there isn't one.
 */
function limitOf({ mark }: CompiledRoute): string | null {
  return mark?.middleware.find((text) => limitIn(text) !== null) ?? null;
}
