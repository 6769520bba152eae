import { peerAddress, type TrustedProxies } from "../../http/index.ts";
import { type Logger, type ServedExchange, servedExchange } from "../../kernel/index.ts";

const FORWARDING = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"] as const;
const SETTING = "Set APP.trustedProxies in config/app.ts, or TRUSTED_PROXIES in the environment";

/**
 * Logs a warning, once each, about two signs that the application doesn't know its clients' addresses: forwarding
 * headers from a peer that isn't a trusted proxy, and a request without any address.
 */
export class AddressWarnings {
  readonly #proxies: TrustedProxies;
  readonly #logger: Logger;
  #hasSeenStranger = false;
  #hasSeenUnknown: boolean;

  /** @param isUnknownMeant whether the settings say that requests have no address */
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
    // If the request came through the server, reading Node's own headers is faster.
    const sent = served?.req.headers;
    const header = FORWARDING.find((name) => (sent === undefined ? raw.headers.has(name) : name in sent));
    if (header === undefined) return;
    // The peer's address is read only now, because it may have to be parsed, and few requests have such a header.
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
