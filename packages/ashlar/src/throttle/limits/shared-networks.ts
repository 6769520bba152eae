import { type AddressRange, isInRanges, parseRange } from "../../http/index.ts";
import { ConfigurationError, integer, recordOf, type Setting } from "../../support/index.ts";
import type { Bucket } from "./limit.ts";

/**
 * The shortest prefix of a network: a larger one is not the network of one site or one provider, and its limits would be those
 * of a good part of all clients.
 */
const MIN_PREFIX: Readonly<Record<string, number>> = { ipv4: 8, ipv6: 16 };
const TIMES = integer({ from: 2, to: 1000 });

/** A network whose addresses are shared, and how many times the attempts each of them has. */
interface SharedNetwork {
  readonly range: AddressRange;
  readonly times: number;
}

/** The networks in which many people share an address: `THROTTLE.sharedNetworks`. */
export class SharedNetworks {
  readonly #networks: readonly SharedNetwork[];
  /** The buckets with more attempts, by how many times. Each is made once, because buckets are compared by identity. */
  readonly #buckets = new Map<number, WeakMap<Bucket, Bucket>>();

  /** @param networks the largest number first */
  constructor(networks: readonly SharedNetwork[] = []) {
    this.#networks = networks.toSorted((one, other) => other.times - one.times);
  }

  /** A bucket as it counts an address: with more attempts if the address is shared. */
  bucketFor(bucket: Bucket, address: string | null): Bucket {
    const times = this.#timesOf(address);
    if (times === 1) return bucket;
    const made = this.#buckets.get(times) ?? new WeakMap<Bucket, Bucket>();
    this.#buckets.set(times, made);
    const known = made.get(bucket) ?? Object.freeze({ ...bucket, attempts: bucket.attempts * times });
    made.set(bucket, known);
    return known;
  }

  /** If several networks contain the address, the largest number counts. */
  #timesOf(address: string | null): number {
    if (address === null || this.#networks.length === 0) return 1;
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

/** The networks of {@link SHARED_NETWORKS}, as they were read. */
export function sharedNetworksOf(read: Readonly<Record<string, number>>): SharedNetworks {
  return new SharedNetworks(Object.entries(read).map(([text, times]) => ({ range: parseRange(text)!, times })));
}
