import { parseHost } from "../http/index.ts";
import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../support/index.ts";

/** The host a route is limited to, taken apart. */
export interface DomainPattern {
  readonly text: string;
  /** The same for patterns that take the same hosts: its parameters without their names. */
  readonly shape: string;
  readonly parameters: readonly string[];
  /** Whether it is only what stands before the registrable domain. */
  readonly isSubdomain: boolean;
  readonly labels: readonly DomainLabel[];
}

/** Literal text, or the name of the parameter that captures the label. */
type DomainLabel = { readonly text: string } | { readonly parameter: string };

/** A request's host, as patterns are held against it. */
export interface HostName {
  readonly whole: readonly string[];
  readonly subdomain: readonly string[];
}

/**
 * Takes a host pattern apart: `api` or `@account` (a subdomain, of one label), `@account.example.com` (a whole host).
 *
 * @throws `E_INVALID_ROUTE`
 */
export function parseDomain(text: string): DomainPattern {
  const parts = String(text).toLowerCase() === "" ? [] : String(text).split(".");
  const labels = parts.map((part): DomainLabel => {
    const parameter = /^@([A-Za-z_]\w*)$/.exec(part)?.[1];
    if (parameter !== undefined && !isPrototypeName(parameter)) return { parameter };
    if (/^[A-Za-z0-9_-]{1,63}$/.test(part)) return { text: part.toLowerCase() };
    throw new AshlarError("E_INVALID_ROUTE", `"${text}" is not a host; write api, @account or @account.example.com.`);
  });
  if (labels.length === 0) throw new AshlarError("E_INVALID_ROUTE", "the domain is empty.");
  const parameters = labels.flatMap((label) => ("parameter" in label ? [label.parameter] : []));
  if (new Set(parameters).size < parameters.length) {
    throw new AshlarError("E_INVALID_ROUTE", `the domain "${text}" has two parameters of one name.`);
  }
  return {
    text,
    shape: labels.map((label) => ("text" in label ? label.text : "@")).join("."),
    parameters,
    isSubdomain: labels.length === 1,
    labels,
  };
}

/** A request's host in labels; `null` where it is none. The port counts for nothing. */
export function hostName(authority: string): HostName | null {
  const { host, subdomain } = parseHost(authority);
  if (host === "") return null;
  const before = subdomain === null ? [] : subdomain.split(".");
  return { whole: [...before, ...host.split(".")], subdomain: before };
}

/** What a pattern captures of a host, or `null` where it does not fit. */
export function matchDomain(pattern: DomainPattern, host: HostName): Dictionary<string> | null {
  const labels = pattern.isSubdomain ? host.subdomain : host.whole;
  if (labels.length !== pattern.labels.length) return null;
  const captured = dictionary<string>();
  for (const [index, label] of pattern.labels.entries()) {
    const given = labels[index]!;
    if ("parameter" in label) captured[label.parameter] = given;
    else if (label.text !== given) return null;
  }
  return captured;
}

/** Puts the pattern first that says more about the host. */
export function compareDomains(a: DomainPattern, b: DomainPattern): number {
  return Number(a.isSubdomain) - Number(b.isSubdomain) || a.parameters.length - b.parameters.length;
}
