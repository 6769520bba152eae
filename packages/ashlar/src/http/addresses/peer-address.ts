import { nodeExchange } from "../../node/index.ts";
import { canonicalAddress } from "./client-address.ts";

/** The key of the address passed to `fetch` with a request. A symbol, so no request can contain it. */
const HANDED_IN = Symbol("ashlar.peer-address");

/** The data about the socket that a host's request may have. */
interface HostRequest extends Request {
  [HANDED_IN]?: string;
  readonly ip?: string | undefined;
}

/** Records the address that a request came from, for a host whose requests do not contain it. */
export function setPeerAddress(raw: Request, address: string): void {
  (raw as HostRequest)[HANDED_IN] = address;
}

/**
 * Returns the address at the other end of the socket, in canonical form, ignoring headers; `null` if it is not known.
 *
 * An address passed to `fetch` takes precedence: the host that passed it knows its sockets.
 */
export function peerAddress(raw: Request): string | null {
  const request: HostRequest = raw;
  // The host's own `ip` may be computed when it is read.
  const address = request[HANDED_IN] ?? nodeExchange(raw)?.req?.socket?.remoteAddress ?? request.ip;
  return address === undefined ? null : (canonicalAddress(address) ?? address);
}
