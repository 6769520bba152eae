import { parseBasePath } from "../../http/index.ts";
import { DEFAULT_PORT } from "../../server/index.ts";
import { ConfigurationError, isLoopbackHost } from "../../support/index.ts";
import type { EnvironmentName } from "./environment-name.ts";
import "../errors.ts";

/** The length of a year, in seconds. */
export const YEAR = 31_536_000;
const NO_ROOT = "Without a root, no .env is read: add root: import.meta.dirname to createApplication().";

/**
 * Reads `APP_URL`.
 *
 * @param hasRoot whether the application has a folder, and so a `.env` that can contain it
 * @throws `E_MISSING_ENVIRONMENT` in production; `E_INVALID_CONFIGURATION`
 */
export function readUrl(
  text: string | undefined,
  name: EnvironmentName,
  hasRoot: boolean,
): { readonly origin: string | null; readonly basePath: string } {
  if (!text) {
    if (name !== "production") return { origin: null, basePath: "" };
    // Without it, links in mails would have to begin with the Host header, which the sender of the request chooses.
    throw new ConfigurationError(
      "Environment variable APP_URL",
      "is not set, and production needs it: links, redirects and cookies depend on the address that visitors use.",
      inEnvFile("Set it to the public address, like APP_URL=https://shop.example", hasRoot),
      "E_MISSING_ENVIRONMENT",
    );
  }
  const site = siteOf(text);
  if (site !== null) return site;
  throw new ConfigurationError(
    "Environment variable APP_URL",
    `is ${JSON.stringify(text)}, which is not the address of a site.`,
    "Set it to scheme, host and port, like APP_URL=https://shop.example, and a path if the application is under one, like https://x.example/shop",
  );
}

/** The origin and the path of a site's address; `null` if the text is anything else. */
export function siteOf(text: string): { readonly origin: string; readonly basePath: string } | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") return null;
  const basePath = parseBasePath(url.pathname);
  return basePath === null ? null : { origin: url.origin, basePath };
}

/**
 * The port, as a suffix for the names of cookies, if an application in development listens on a port of this machine other
 * than the default one. Browsers send a host's cookies to all of its ports, so applications that are developed side by side
 * would otherwise log each other's users out.
 */
export function portSuffix(name: EnvironmentName, origin: string | null, configured: number): string {
  if (name !== "development") return "";
  const url = new URL(origin ?? `http://localhost:${configured}`);
  const port = Number(url.port || DEFAULT_PORT);
  const isOther = url.protocol === "http:" && isLoopbackHost(url.hostname) && port !== DEFAULT_PORT && port !== 0;
  return isOther ? `~${port}` : "";
}

/**
 * How long browsers must use only https, in seconds.
 *
 * @param given `APP.hstsMaxAgeSeconds`; `null` for the default
 * @throws `E_INVALID_CONFIGURATION` if `APP_URL` isn't https
 */
export function hstsMaxAge(given: number | null, url: string | null, name: EnvironmentName): number {
  const isHttps = url?.startsWith("https:") ?? false;
  const seconds = given ?? (isHttps && name === "production" ? YEAR : 0);
  if (seconds === 0 || isHttps) return seconds;
  // Browsers ignore the header in responses over http (RFC 6797 §8.1).
  const problem = "has no effect, because APP_URL is not https.";
  const remedy = "Set APP_URL to an https address, or leave it out.";
  throw new ConfigurationError("config/app.ts: APP.hstsMaxAgeSeconds", problem, remedy);
}

/** Completes a remedy that sets a variable in `.env`: without a root, the application doesn't read the file. */
export function inEnvFile(remedy: string, hasRoot: boolean): string {
  return hasRoot ? remedy : `${NO_ROOT} ${remedy}`;
}
