import { nodeParts } from "../node/index.ts";
import { canonicalAddress } from "./client-address.ts";

/** Where the address is that was handed to `fetch` along with a request. Not a name that a request could come with. */
const HANDED_IN = Symbol("ashlar.peer-address");

/** What a host's request may know of the socket. */
interface HostRequest extends Request {
  [HANDED_IN]?: string;
  readonly ip?: string | undefined;
}

/** Notes the address that a request came from, for a host whose requests do not carry it. */
export function setPeerAddress(raw: Request, address: string): void {
  (raw as HostRequest)[HANDED_IN] = address;
}

/**
 * The address at the other end of the socket, in canonical form, whatever headers say; `null` if it is not known.
 *
 * What was handed in comes first: the host that did so knows its sockets.
 */
export function peerAddress(raw: Request): string | null {
  const { [HANDED_IN]: handedIn, ip } = raw as HostRequest;
  const address = handedIn ?? nodeParts(raw)?.req?.socket?.remoteAddress ?? ip;
  return address === undefined ? null : (canonicalAddress(address) ?? address);
}
