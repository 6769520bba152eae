import type { RouteInfo } from "../../http/index.ts";
import { RefusedError } from "../../support/index.ts";

/** Why a route's requests are refused. */
interface Cause {
  readonly error: RefusedError;
  /** Reports whether another request would currently be refused for the same reason. */
  readonly stands: () => boolean;
}

/**
 * The routes whose requests are refused because something that they need is exhausted, such as a database's
 * connections. While that lasts, their requests are refused before any work is done for them. Requests with and without
 * credentials are tracked separately, because only the former may need a user's row. Forms from visitors with a session
 * still go through the middleware, which knows the page that the error page has to link back to.
 */
export class BusyRoutes {
  /** Whether there is no known busy route. Only this class changes it. */
  areNone = true;
  readonly #withCredentials = new Map<RouteInfo, Cause>();
  readonly #without = new Map<RouteInfo, Cause>();

  /** Records that a route refused a request. */
  refused(route: RouteInfo, raw: Request, error: RefusedError): void {
    const { stands } = error.refusal;
    if (stands === undefined) return;
    this.#of(raw).set(route, { error, stands });
    this.areNone = false;
  }

  /** The error to refuse a request to the route with; `null` if the request may start. */
  errorOf(route: RouteInfo, raw: Request): RefusedError | null {
    const causes = this.#of(raw);
    const cause = causes.get(route);
    if (cause === undefined || isForm(raw)) return null;
    if (cause.stands()) return RefusedError.of(cause.error.message, { ...cause.error.refusal, waitedMs: 0 });
    causes.delete(route);
    this.areNone = this.#withCredentials.size === 0 && this.#without.size === 0;
    return null;
  }

  #of(raw: Request): Map<RouteInfo, Cause> {
    const { headers } = raw;
    return headers.has("cookie") || headers.has("authorization") ? this.#withCredentials : this.#without;
  }
}

/** Whether a request may be a form sent by a visitor with a session. */
function isForm({ method, headers }: Request): boolean {
  return method !== "GET" && method !== "HEAD" && headers.has("cookie");
}
