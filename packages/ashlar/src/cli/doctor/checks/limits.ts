import { hasTable, MissingTableError } from "../../../database/index.ts";
import type { CompiledRoute } from "../../../routing/index.ts";
import { linesFor } from "../../../scaffold/index.ts";
import { DefaultStore, MemoryStore, RATE_LIMITS_TABLE, RedisStore, ThrottleProvider } from "../../../throttle/index.ts";
import { reasonOf } from "../../limited.ts";
import { missingTableFinding, withDatabase } from "../database.ts";
import { hasApi, hasPages } from "../features.ts";
import { type Check, error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { labelOf } from "./routes.ts";

/** The beginning of the middleware that counts: `throttle:login,user`. */
const THROTTLE = "throttle:";

/** A limit with another name is fine, too, if one of its buckets allows no more than this. */
const MAX_ATTEMPTS_PER_HOUR = 600;

/** The limits on attempts. */
export const LIMITS: Check = {
  name: "Limits",
  needsBoot: false,
  async run(subject: Subject): Promise<Finding[]> {
    if (!hasApi(subject) && !hasPages(subject) && !hasLimitedRoute(subject)) return [];
    if (subject.failedSections.has("providers")) return [];
    if (!subject.hasProvider(ThrottleProvider)) {
      const { file, lines } = linesFor("api", "ThrottleProvider");
      const problem = "ThrottleProvider is not in PROVIDERS, so passwords can be guessed without limit.";
      return [error("limits.provider", { file, problem, lines })];
    }
    return [...routeFindings(subject), ...(await storeFindings(subject))];
  },
};

function routeFindings(subject: Subject): Finding[] {
  return (subject.boot.application?.router.routes ?? []).flatMap((route) => {
    const limit = limitOf(route);
    if (limit === null) return [];
    const origin = `${route.mark!.madeBy}() makes it with ${limit}`;
    const limits = route.middleware.filter((text) => text.startsWith(THROTTLE));
    if (limits.some((given) => fits(subject, nameOf(given), nameOf(limit)))) return [];
    const place = subject.placeOf(route.location);
    const label = labelOf(route);
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

/** The limit's name in `throttle:login,user`. */
function nameOf(text: string): string {
  return text.slice(THROTTLE.length).split(",")[0]!;
}

function fits({ boot }: Subject, name: string, expected: string): boolean {
  if (name === expected) return true;
  const { buckets } = boot.application!.container.make("throttle").limit(name);
  return buckets.some(({ attempts, windowSeconds }) => (attempts * 3600) / windowSeconds <= MAX_ATTEMPTS_PER_HOUR);
}

function hasLimitedRoute({ boot }: Subject): boolean {
  return boot.application?.router.routes.some((route) => limitOf(route) !== null) ?? false;
}

/** The limit that a feature made the route with, or another route with the same handler; `null` if none did. */
function limitOf({ mark }: CompiledRoute): string | null {
  return mark?.middleware.find((text) => text.startsWith(THROTTLE)) ?? null;
}

async function storeFindings(subject: Subject): Promise<Finding[]> {
  const { container } = subject.boot.application ?? {};
  if (container === undefined || !container.has("throttle")) return [];
  const { store } = container.make("throttle");
  if (store.check !== undefined) {
    try {
      await store.check();
    } catch (thrown) {
      if (thrown instanceof MissingTableError)
        return [missingTableFinding("limits.store", thrown, "config/throttle.ts")];
      const problem = `The store of the limits can't be reached: ${reasonOf(thrown)}`;
      const note = "Start its server, or correct its address in config/throttle.ts.";
      return [error("limits.store", { file: "config/throttle.ts", problem, note })];
    }
  }
  if (!subject.isProduction) return [];
  if (store instanceof RedisStore) return evictionFindings(await store.evictionPolicy());
  if (store instanceof MemoryStore) {
    const problem = "Limits count in the memory of each process: several processes allow several times the attempts.";
    const lines = ['import { databaseStore } from "ashlar/throttle";', "// in THROTTLE:", "store: databaseStore(),"];
    return [warning("limits.memory", { file: "config/throttle.ts", problem, lines })];
  }
  if (!(store instanceof DefaultStore)) return [];
  const isShared = await withDatabase(subject, (database) => hasTable(database, RATE_LIMITS_TABLE));
  if (isShared !== false) return [];
  const problem = `The database has no table ${RATE_LIMITS_TABLE}, so limits count in the memory of each process.`;
  return [warning("limits.memory", { problem, run: migrating(subject) })];
}

function evictionFindings(policy: string | null): Finding[] {
  if (policy === null) return [];
  const problem = `Redis deletes keys once its memory is full (maxmemory-policy ${policy}), and the limits' attempts with them.`;
  const note =
    "Set maxmemory-policy to noeviction in the server's configuration. If it is a cache as well, use another server.";
  return [warning("limits.evicted", { file: "config/throttle.ts", problem, note })];
}

/** The commands that write the missing migrations, and run all of them. */
export function migrating(subject: Subject): string {
  const install = hasPages(subject) ? "npx ashlar auth --migrations" : "npx ashlar api:install --migrations";
  return `${install} && npx ashlar migrate`;
}
