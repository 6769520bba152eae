import { type AddressRange, isInRanges, parseRange } from "../../http/index.ts";
import { ConfigurationError, integer, recordOf, type Setting } from "../../support/index.ts";
import type { Bucket } from "./limit.ts";

/**
 * The shortest allowed prefix. No single site or provider has a larger network, so a shorter prefix would raise the
 * limits for a large share of all clients.
 */
const MIN_PREFIX: Readonly<Record<string, number>> = { ipv4: 8, ipv6: 16 };
const TIMES = integer({ from: 2, to: 1000 });

/** A network with shared addresses, and the factor by which its addresses' attempts are multiplied. */
interface SharedNetwork {
  readonly range: AddressRange;
  readonly times: number;
}

/** The networks in which many people share an address: `THROTTLE.sharedNetworks`. */
export class SharedNetworks {
  readonly #networks: readonly SharedNetwork[];
  /**
   * The buckets with multiplied attempts, by factor. Each is created once, because buckets are compared by identity.
   */
  readonly #buckets = new Map<number, WeakMap<Bucket, Bucket>>();

  /** @param networks in any order; if several contain an address, the largest factor applies */
  constructor(networks: readonly SharedNetwork[]) {
    this.#networks = networks.toSorted((one, other) => other.times - one.times);
  }

  /** The bucket that counts an address. It allows more attempts if the address is shared. */
  bucketFor(bucket: Bucket, address: string | null): Bucket {
    const times = this.#timesOf(address);
    if (times === 1) return bucket;
    const made = this.#buckets.get(times) ?? new WeakMap<Bucket, Bucket>();
    this.#buckets.set(times, made);
    const known = made.get(bucket) ?? Object.freeze({ ...bucket, attempts: bucket.attempts * times });
    made.set(bucket, known);
    return known;
  }

  #timesOf(address: string | null): number {
    if (address === null) return 1;
    return this.#networks.find(({ range }) => isInRanges(address, [range]))?.times ?? 1;
  }
}

/**
 * Checks the name of an entry of `THROTTLE.sharedNetworks`.
 *
 * @throws `E_INVALID_CONFIGURATION` if it is not a network
 */
function requireNetwork(text: string, where: string): void {
  const range = parseRange(text);
  if (range === null) {
    const remedy = 'Write it in CIDR notation, like "198.51.100.0/24".';
    throw new ConfigurationError(where, "is neither an address nor a range of addresses.", remedy);
  }
  const [base, length] = range;
  const least = MIN_PREFIX[base.kind()]!;
  if (length >= least) return;
  const remedy = `List the networks one by one, each /${least} or smaller.`;
  throw new ConfigurationError(where, "is larger than the network of any site or provider.", remedy);
}

/** The setting `THROTTLE.sharedNetworks`. */
export const SHARED_NETWORKS: Setting<Readonly<Record<string, number>>> = recordOf(
  TIMES,
  requireNetwork,
  '"198.51.100.0/24"',
);

/** The networks in the checked setting {@link SHARED_NETWORKS}; `null` if the setting is empty. */
export function sharedNetworksOf(read: Readonly<Record<string, number>>): SharedNetworks | null {
  const networks = Object.entries(read).map(([text, times]) => ({ range: parseRange(text)!, times }));
  return networks.length === 0 ? null : new SharedNetworks(networks);
}
