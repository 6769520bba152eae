import { AsyncLocalStorage } from "node:async_hooks";
import { type OwnHosts, parseHost, requestAuthority } from "../../http/index.ts";
import { isThenable, type MaybePromise } from "../../support/index.ts";

/** The origin that an application has for the running code, inside of what surrounds it. */
interface Scope {
  readonly owner: RequestedOrigins;
  /** `null` for that of `APP_URL`. */
  readonly origin: string | null;
  readonly around: Scope | undefined;
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

/**
 * Under which of its hosts the visitors of the running code use an application that has several (`APP.hosts`). It holds for
 * everything that a request starts, work after the response included.
 */
export class RequestedOrigins {
  readonly #hosts: OwnHosts;
  readonly #ownUrl: () => string;

  /**
   * @param hosts those besides that of `APP_URL`
   * @param ownUrl returns the origin of `APP_URL`, whose scheme and port the others share
   */
  constructor(hosts: OwnHosts, ownUrl: () => string) {
    this.#hosts = hosts;
    this.#ownUrl = ownUrl;
  }

  /** The origin that the running code uses instead of that of `APP_URL`; `null` if it uses that. */
  get current(): string | null {
    let scope = scopes.getStore();
    while (scope !== undefined && scope.owner !== this) scope = scope.around;
    return scope?.origin ?? null;
  }

  /**
   * {@link current}, if its host belongs to the site of `APP_URL`: to the same registrable domain by the public suffix list.
   *
   * Security: for what hands over access to an account. A domain that a tenant brought may point to the tenant's own server,
   * which would collect the tokens of all who follow a link.
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
   * Runs the work of a request under the origin of its host, if that is one of the application's, else under that of
   * `APP_URL`.
   *
   * Security: the sender chooses the host, so only a name that is listed or confirmed counts, and never the port.
   *
   * @param failed is called if the host can't be looked up
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
 * Makes work that runs later, perhaps started by another request, run under the origin that holds now: mails and jobs of a
 * tenant lead to the tenant.
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
  // What isn't a valid name belongs to no site but that of the same text.
  return parseHost(hostname).host || hostname;
}

function withHost(own: URL, host: string): string {
  return `${own.protocol}//${host}${own.port === "" ? "" : `:${own.port}`}`;
}
