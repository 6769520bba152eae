import { type RedirectWarnings, type RouteInfo, routeLabel } from "../../http/index.ts";
import type { Logger } from "../logger.ts";

/** A source in `form-action`: an optional scheme, host and port (W3C CSP 3 §2.3.1). */
const SOURCE = /^(?:([a-z][a-z\d+.-]*):(?:\/\/)?)?([^:/]*)(?::(\d+|\*))?(?:\/.*)?$/i;
const PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * Warns once about each route that responds to a form with a redirect to an origin that `form-action` doesn't list.
 * Chromium applies the directive of the form's page to each redirect that follows, and silently blocks it.
 */
export class BlockedRedirectWarnings implements RedirectWarnings {
  readonly #logger: Pick<Logger, "warn">;
  /** The routes that have been reported; `null` represents requests without a route. */
  readonly #warned = new Set<RouteInfo | null>();

  constructor(logger: Pick<Logger, "warn">) {
    this.#logger = logger;
  }

  look(route: RouteInfo | null, policy: string, target: string): void {
    const sources = formTargetsOf(policy);
    if (sources === null || this.#warned.has(route)) return;
    const url = new URL(target);
    if (sources.some((source) => permits(source, url))) return;
    this.#warned.add(route);
    const label = route === null ? "A request" : routeLabel(route);
    this.#logger.warn(
      `${label} redirects to ${url.origin}. If a form was sent, browsers block that, because form-action of the ` +
        `Content-Security-Policy is ${sources.join(" ")}. Add the origin to it, with those that it redirects to in turn, or remove form-action.`,
    );
  }
}

/** The sources in `form-action`; `null` if forms may be sent anywhere. */
function formTargetsOf(policy: string): readonly string[] | null {
  const directives = policy.split(";").map((directive) => directive.trim().split(/\s+/));
  return directives.find(([name]) => name!.toLowerCase() === "form-action")?.slice(1) ?? null;
}

/**
 * Reports whether a source permits a URL on another origin. After a redirect, paths are ignored (W3C CSP 3 §6.7.2.8).
 */
function permits(source: string, url: URL): boolean {
  if (source === "*") return true;
  const [, scheme, host = "", port] = SOURCE.exec(source) ?? [];
  if (scheme === undefined && (host === "" || host.startsWith("'"))) return false;
  if (scheme !== undefined && !permitsScheme(scheme.toLowerCase(), url)) return false;
  return host === "" || (permitsHost(host.toLowerCase(), url) && permitsPort(port, url));
}

/** A source with http also permits https. */
function permitsScheme(scheme: string, { protocol }: URL): boolean {
  return `${scheme}:` === protocol || scheme === "http";
}

function permitsHost(host: string, { hostname }: URL): boolean {
  return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
}

/** Without a port, a source permits only the default port of the URL's scheme. */
function permitsPort(wanted: string | undefined, { protocol, port }: URL): boolean {
  if (wanted === undefined) return port === "";
  return wanted === "*" || wanted === (port || PORTS[protocol]);
}
