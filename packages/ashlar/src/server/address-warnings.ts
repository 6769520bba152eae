import { peerAddress, type TrustedProxies } from "../http/index.ts";
import { type Logger, servedExchange } from "../kernel/index.ts";

const FORWARDING = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"] as const;
const SETTING = "Set APP.trustedProxies in config/app.ts, or TRUSTED_PROXIES in the environment";

/**
 * Checks requests for signs that the application does not know its clients' addresses, and logs each sign once:
 * forwarding headers from a peer that is not a trusted proxy, and a request without any address.
 */
export class AddressWarnings {
  readonly #proxies: TrustedProxies;
  readonly #logger: Logger;
  #hasSeenStranger = false;
  #hasSeenUnknown = false;

  constructor(proxies: TrustedProxies, logger: Logger) {
    this.#proxies = proxies;
    this.#logger = logger;
  }

  look(raw: Request): void {
    if (this.#hasSeenStranger && this.#hasSeenUnknown) return;
    const peer = peerAddress(raw);
    if (peer === null) this.#warnOfUnknown();
    else if (!this.#hasSeenStranger) this.#lookAtHeaders(raw, peer);
  }

  #warnOfUnknown(): void {
    if (this.#hasSeenUnknown) return;
    this.#hasSeenUnknown = true;
    this.#logger.warn(
      "A request came without its client's address, so limits count by account only. Pass the address when the host " +
        `calls the application: fetch(request, { address }). ${SETTING}, if that address is a proxy's.`,
    );
  }

  #lookAtHeaders(raw: Request, peer: string): void {
    // For a request that came through the server, its own headers are the fastest to read.
    const sent = servedExchange(raw)?.req.headers;
    const header = FORWARDING.find((name) => (sent === undefined ? raw.headers.has(name) : name in sent));
    if (header === undefined || this.#proxies.trusts(peer)) return;
    this.#hasSeenStranger = true;
    this.#logger.warn(
      { peer, header },
      `A request from ${peer} has forwarding headers, which are ignored. If ${peer} is your proxy, all of its clients ` +
        `count as one and can lock each other out: ${SETTING}, as in TRUSTED_PROXIES=${peer}.`,
    );
  }
}
