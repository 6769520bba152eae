import type { Logger } from "../../kernel/index.ts";
import { type EnvironmentVariables, isLoopbackHost } from "../../support/index.ts";
import type { CompleteApplicationSettings } from "./application-settings.ts";

/**
 * Warns of unprotected connections in production: an `APP_URL` that isn't https, unless its host is loopback, and TLS
 * certificates that aren't verified.
 */
export function warnOfUnsafeEnvironment(
  { environment, url }: CompleteApplicationSettings,
  variables: EnvironmentVariables,
  logger: Logger,
): void {
  if (environment !== "production") return;
  if (url?.startsWith("http:") && !isLoopbackHost(new URL(url).hostname)) {
    logger.warn(
      { finding: "url.http" },
      `APP_URL is ${url}, so cookies are sent over unencrypted connections too: they have neither Secure nor the prefix ` +
        "__Host-. Serve the application over https, by a proxy or otherwise, and set APP_URL to its https address.",
    );
  }
  // Node.js verifies certificates unless the variable has exactly this value.
  if (variables.NODE_TLS_REJECT_UNAUTHORIZED === "0") {
    logger.warn(
      "NODE_TLS_REJECT_UNAUTHORIZED is 0, so certificates are not verified: anyone on the network can read and change what " +
        "the application exchanges with other services by fetch() or node:https. Remove it. If a certificate is " +
        "signed by your own authority, set NODE_EXTRA_CA_CERTS to that authority's certificate.",
    );
  }
}
