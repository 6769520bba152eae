import { peerAddress, type TrustedProxies } from "../../http/index.ts";
import { type Logger, type ServedExchange, servedExchange } from "../../kernel/index.ts";

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
  #hasSeenUnknown: boolean;

  /** @param isUnknownMeant whether the settings say that requests come without an address */
  constructor(proxies: TrustedProxies, logger: Logger, isUnknownMeant: boolean) {
    this.#proxies = proxies;
    this.#logger = logger;
    this.#hasSeenUnknown = isUnknownMeant;
  }

  look(raw: Request): void {
    const served = servedExchange(raw);
    if (!this.#hasSeenStranger) this.#lookAtHeaders(raw, served);
    // The server refuses connections without an address.
    if (!this.#hasSeenUnknown && served === undefined) this.#lookAtPeer(raw);
  }

  #lookAtPeer(raw: Request): void {
    if (peerAddress(raw) !== null) return;
    this.#hasSeenUnknown = true;
    this.#logger.warn(
      "A request came without its client's address. Limits by address, such as those of logins, refuse such requests with " +
        "500. Pass the address of the socket where the host calls the application: application.fetch(request, { address }). " +
        `${SETTING}, if that address is a proxy's.`,
    );
  }

  #lookAtHeaders(raw: Request, served: ServedExchange | undefined): void {
    // For a request that came through the server, its own headers are the fastest to read.
    const sent = served?.req.headers;
    const header = FORWARDING.find((name) => (sent === undefined ? raw.headers.has(name) : name in sent));
    if (header === undefined) return;
    // Only now: few requests have such a header, and a peer's address may have to be parsed.
    const peer = peerAddress(raw);
    if (peer === null || this.#proxies.trusts(peer)) return;
    this.#hasSeenStranger = true;
    this.#logger.warn(
      { peer, header },
      `A request from ${peer} has forwarding headers, which are ignored. If ${peer} is your proxy, all of its clients ` +
        `count as one and can lock each other out: ${SETTING}, as in TRUSTED_PROXIES=${peer}.`,
    );
  }
}
