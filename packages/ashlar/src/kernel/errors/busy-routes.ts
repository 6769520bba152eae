import type { RouteInfo } from "../../http/index.ts";
import { RefusedError } from "../../support/index.ts";

/** What requests of a route have been refused for. */
interface Cause {
  readonly error: RefusedError;
  /** Whether another request would be refused for it now. */
  readonly stands: () => boolean;
}

/**
 * The routes whose requests are refused because there are too many for something that they need, such as the connections of
 * a database. As long as another one would be refused for the same reason, it is so before any of its work is done.
 * Requests with and without credentials are counted separately: only the former may need a user's row. Forms of
 * visitors with a session are left to the middleware, which knows what their error's page has to lead back to.
 */
export class BusyRoutes {
  /** Whether no route is busy, as far as is known. Only this class changes it. */
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

  /** The error that a request of a route would end with; `null` if it may begin. */
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

/** Whether a request may be a form of a visitor with a session. */
function isForm({ method, headers }: Request): boolean {
  return method !== "GET" && method !== "HEAD" && headers.has("cookie");
}
