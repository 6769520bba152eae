import { parseHost } from "../../http/index.ts";
import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../../support/index.ts";
import "../errors.ts";

/** The parsed host that a route is limited to. */
export interface DomainPattern {
  readonly text: string;
  /** The pattern without its parameters' names. It is equal for patterns that match the same hosts. */
  readonly shape: string;
  readonly parameters: readonly string[];
  /** Whether the pattern covers only the part before the registrable domain. */
  readonly isSubdomain: boolean;
  readonly labels: readonly DomainLabel[];
}

/** Literal text, or the name of the parameter that captures the label. */
type DomainLabel = { readonly text: string } | { readonly parameter: string };

/** A request's host, in the form that patterns are matched against. */
export interface HostName {
  readonly whole: readonly string[];
  readonly subdomain: readonly string[];
}

/**
 * Parses a host pattern: `api` or `@account` (a subdomain, of one label), `@account.example.com` (a complete host).
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
    throw new AshlarError("E_INVALID_ROUTE", `the domain "${text}" has two parameters with the same name.`);
  }
  return {
    text,
    shape: labels.map((label) => ("text" in label ? label.text : "@")).join("."),
    parameters,
    isSubdomain: labels.length === 1,
    labels,
  };
}

/** Splits a request's host into labels; `null` if it is not valid. The port is ignored. */
export function hostName(authority: string): HostName | null {
  const { host, subdomain } = parseHost(authority);
  if (host === "") return null;
  const before = subdomain === null ? [] : subdomain.split(".");
  return { whole: [...before, ...host.split(".")], subdomain: before };
}

/** Returns what a pattern captures from a host, or `null` if it does not match. */
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

/** Sorts the more specific pattern first. */
export function compareDomains(a: DomainPattern, b: DomainPattern): number {
  return Number(a.isSubdomain) - Number(b.isSubdomain) || a.parameters.length - b.parameters.length;
}
