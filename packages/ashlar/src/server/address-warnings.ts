import { peerAddress, type TrustedProxies } from "../http/index.ts";
import { type Logger, servedParts } from "../kernel/index.ts";

const FORWARDING = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"] as const;
const SETTING = "Set APP.trustedProxies in config/app.ts, or TRUSTED_PROXIES in the environment";

/**
 * Looks at requests for signs that the application does not know who its clients are, and logs each sign once: forwarding
 * headers from a peer that is not a trusted proxy, and a request without any address.
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
      "A request came without the address of its client, so limits count by account alone. Hand the address in where the " +
        `host gives the request to the application: fetch(request, { address }). ${SETTING}, if that address is a proxy's.`,
    );
  }

  #lookAtHeaders(raw: Request, peer: string): void {
    // Of a request of the server, its own headers are the quickest to ask.
    const sent = servedParts(raw)?.req.headers;
    const header = FORWARDING.find((name) => (sent === undefined ? raw.headers.has(name) : name in sent));
    if (header === undefined || this.#proxies.trusts(peer)) return;
    this.#hasSeenStranger = true;
    this.#logger.warn(
      { peer, header },
      `A request from ${peer} carries forwarding headers, which are ignored. If ${peer} is your proxy, all of its clients ` +
        `count as one, and lock each other out: ${SETTING}, as in TRUSTED_PROXIES=${peer}.`,
    );
  }
}
