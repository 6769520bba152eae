import { isIP } from "node:net";
import type { MaybePromise } from "../../support/index.ts";
import { parseHost } from "./host.ts";

/**
 * Decides whether a host, such as a tenant's, belongs to the application. The host is in lower case and ASCII, without
 * a port.
 */
export type HostCheck = (host: string) => MaybePromise<boolean>;

/** Labels of 1 to 63 characters (RFC 1035 §2.3.4), 253 in all. */
const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/** The hosts, in addition to the host of `APP_URL`, under which visitors use the application: `APP.hosts`. */
export class OwnHosts {
  readonly #names: ReadonlySet<string>;
  readonly #check: HostCheck | null;

  /** @param given the result of {@link parseHosts}, or a function that decides */
  constructor(given: readonly string[] | HostCheck) {
    this.#names = new Set(typeof given === "function" ? [] : given);
    this.#check = typeof given === "function" ? given : null;
  }

  /** The listed hosts, such as `*.shop.example`; `null` if a function decides. */
  get listed(): readonly string[] | null {
    return this.#check === null ? [...this.#names] : null;
  }

  /**
   * Reports whether a host is the application's. The function is called only for names, so health checks by address
   * don't cost a query.
   *
   * @param host without a port, in lower case and ASCII
   * @throws whatever the function throws
   */
  include(host: string): MaybePromise<boolean> {
    if (this.#check !== null) return NAME.test(host) && isIP(host) === 0 ? this.#check(host) : false;
    if (this.#names.has(host)) return true;
    const dot = host.indexOf(".");
    // As in certificates, a wildcard stands for exactly one label (RFC 6125 §6.4.3).
    return dot > 0 && this.#names.has(`*${host.slice(dot)}`);
  }
}

/**
 * Parses a list of hosts: names as browsers send them, or `*.` and a name.
 *
 * Security: a wildcard below a public suffix, such as `*.co.uk`, is refused, because anyone can own such a host.
 *
 * @returns the hosts; if an entry is invalid, text that says what is wrong with the first such entry
 */
export function parseHosts(entries: readonly string[]): readonly string[] | string {
  const hosts: string[] = [];
  for (const entry of entries) {
    const isWildcard = entry.startsWith("*.");
    const name = nameOf(isWildcard ? entry.slice(2) : entry);
    const shown = JSON.stringify(entry);
    if (name === null) return `contains ${shown}, which is not a host without scheme, port and path.`;
    if (!isWildcard) hosts.push(name);
    else if (isIP(name) !== 0 || parseHost(`x.${name}`).subdomain === null)
      return `contains ${shown}: hosts there belong to anyone.`;
    else hosts.push(`*.${name}`);
  }
  return hosts;
}

/** The name in ASCII and lower case; `null` if the text is anything but a host. */
function nameOf(text: string): string | null {
  if (/[\s/\\:?#@*%]/.test(text)) return null;
  const name = URL.parse(`http://${text}/`)?.hostname.replace(/\.$/, "") ?? "";
  return NAME.test(name) ? name : null;
}
