import { AsyncLocalStorage } from "node:async_hooks";
import { type OwnHosts, parseHost, requestAuthority } from "../../http/index.ts";
import { isThenable, type MaybePromise } from "../../support/index.ts";

/** An application's origin for the running code. It may be nested in other applications' scopes. */
interface Scope {
  readonly owner: RequestedOrigins;
  /** `null` for the origin of `APP_URL`. */
  readonly origin: string | null;
  readonly around: Scope | undefined;
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

/**
 * The host under which the current visitor uses an application with several hosts (`APP.hosts`). It applies to all code
 * that a request starts, including work after the response.
 */
export class RequestedOrigins {
  readonly #hosts: OwnHosts;
  readonly #ownUrl: () => string;

  /**
   * @param hosts the hosts in addition to the host of `APP_URL`
   * @param ownUrl returns the origin of `APP_URL`, whose scheme and port the others share
   */
  constructor(hosts: OwnHosts, ownUrl: () => string) {
    this.#hosts = hosts;
    this.#ownUrl = ownUrl;
  }

  /** The origin that the running code uses instead of `APP_URL`'s; `null` if it uses that one. */
  get current(): string | null {
    let scope = scopes.getStore();
    while (scope !== undefined && scope.owner !== this) scope = scope.around;
    return scope?.origin ?? null;
  }

  /**
   * {@link current}, if its host is on the same site as `APP_URL`, which means that both have the same registrable
   * domain by the public suffix list.
   *
   * Security: use it for links that give access to an account. A tenant's domain may point to the tenant's own server,
   * which would collect the tokens of everyone who follows such a link.
   */
  get currentOfSite(): string | null {
    const { current } = this;
    return current !== null && siteOf(current) === siteOf(this.#ownUrl()) ? current : null;
  }

  /** Runs work, and everything that it starts, under an origin that {@link current} has returned. */
  run<T>(origin: string | null, work: () => T): T {
    return scopes.run({ owner: this, origin, around: scopes.getStore() }, work);
  }

  /**
   * Runs a request's work under the origin of its host, if the host belongs to the application, or else under the
   * origin of `APP_URL`.
   *
   * Security: the sender chooses the host, so only a listed or confirmed name is used, and never the port.
   *
   * @param failed called if the host can't be looked up
   */
  runFor<T>(raw: Request, work: () => MaybePromise<T>, failed: (error: unknown) => MaybePromise<T>): MaybePromise<T> {
    const own = new URL(this.#ownUrl());
    const host = hostOf(raw);
    const originIf = (isOwn: boolean) => (isOwn ? withHost(own, host!) : null);
    let isOwn: MaybePromise<boolean>;
    try {
      isOwn = host !== null && host !== own.hostname && this.#hosts.include(host);
    } catch (error) {
      return failed(error);
    }
    if (!isThenable(isOwn)) return this.run(originIf(isOwn === true), work);
    return Promise.resolve(isOwn).then((found) => this.run(originIf(found === true), work), failed);
  }
}

/**
 * Makes work run under the current origin, even if it runs later or is started by another request. Links in a tenant's
 * mails then lead to the tenant's host.
 */
export function underSameOrigin<T>(work: () => T): () => T {
  const scope = scopes.getStore();
  return () => (scopes.getStore() === scope ? work() : scopes.run(scope, work));
}

function hostOf(raw: Request): string | null {
  return URL.parse(`http://${requestAuthority(raw)}/`)?.hostname.replace(/\.$/, "") ?? null;
}

/** The registrable domain of an origin's host; the host itself if it has none. */
function siteOf(origin: string): string {
  const { hostname } = new URL(origin);
  // An invalid name is a separate site.
  return parseHost(hostname).host || hostname;
}

function withHost(own: URL, host: string): string {
  return `${own.protocol}//${host}${own.port === "" ? "" : `:${own.port}`}`;
}
