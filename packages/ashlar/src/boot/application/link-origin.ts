import { RequestedOrigins } from "../../kernel/index.ts";
import type { CompleteApplicationSettings } from "../environment/application-settings.ts";

const DEFAULT_PORT = 3000;

/** The origin that an application's links begin with. */
export class LinkOrigin {
  /** The origins of requests; `null` if visitors use only one host. */
  readonly requests: RequestedOrigins | null;
  readonly #isConfigured: boolean;
  #own: string;
  #isListening = false;

  constructor({ hosts, server, url }: CompleteApplicationSettings) {
    this.requests = hosts === null ? null : new RequestedOrigins(hosts, () => this.#own);
    this.#isConfigured = url !== null;
    this.#own = url ?? new URL(`http://localhost:${server.port || DEFAULT_PORT}`).origin;
  }

  /** The origin for links that the running code creates. */
  get current(): string {
    return this.requests?.current ?? this.#own;
  }

  /** The origin of the additional host (`APP.hosts`) that the running code works for; `null` for the origin of `APP_URL`. */
  get requested(): string | null {
    return this.requests?.current ?? null;
  }

  /** Runs work that continues a request, for which {@link requested} was `origin`. */
  under<T>(origin: string | null, work: () => T): T {
    return this.requests === null ? work() : this.requests.run(origin, work);
  }

  /**
   * Runs work whose links give access to an account: under the current origin if it is on the same site as `APP_URL`,
   * or else under the origin of `APP_URL`.
   */
  underSite<T>(work: () => T): T {
    const { requests } = this;
    return requests === null || requests.current === null ? work() : requests.run(requests.currentOfSite, work);
  }

  /** Makes links begin with the address of the first server, unless `APP_URL` is set. */
  listensAt(url: string): void {
    if (!this.#isConfigured && !this.#isListening) this.#own = new URL(url).origin;
    this.#isListening = true;
  }
}
