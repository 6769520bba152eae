import type { BodyPath } from "./deployment-facts.ts";

/**
 * Returns nginx's blocks for routes with their own body limit, so that only these paths accept such bodies. nginx
 * stores a body on disk before it passes the request on, except for routes that stream bodies.
 *
 * @param upstream the name of the upstream with the instances; the upstream for routes that stream has the suffix
 * `-streams`
 */
export function bodyLocations(paths: readonly BodyPath[], upstream: string): string {
  return paths
    .map(({ pattern, maxBytes, isStreamed }) => {
      const lines = [
        `location ~ "${expressionOf(pattern)}" {`,
        `  client_max_body_size ${nginxSize(maxBytes)};`,
        ...(isStreamed ? ["  proxy_request_buffering off;"] : []),
        `  proxy_pass http://${isStreamed ? `${upstream}-streams` : upstream};`,
        "}",
      ];
      return lines.map((line) => `  ${line}\n`).join("");
    })
    .join("\n");
}

/** Twice a limit, in nginx's syntax, so that the application itself responds to bodies that are slightly too large. */
export function nginxSize(bytes: number): string {
  // 0 disables nginx's limit.
  return bytes === Number.POSITIVE_INFINITY ? "0" : `${Math.ceil((2 * bytes) / 1024 ** 2)}m`;
}

/** The regular expression for a route's paths, which nginx matches against the decoded path. */
function expressionOf(pattern: string): string {
  const segments = pattern.split("/").filter((segment) => segment !== "");
  const written = segments.map((segment) => {
    const [, kind, compiler] = /^([@?])\w+(?::(\w+))?$/.exec(segment) ?? [];
    if (kind === undefined) return `/${literal(segment)}`;
    const value = compiler === "any" ? "/.+" : "/[^/]+";
    return kind === "?" ? `(?:${value})?` : value;
  });
  return `^${written.join("")}/?$`;
}

function literal(segment: string): string {
  // Quotes and backslashes would also have to be escaped in nginx's own syntax.
  return segment.replaceAll(/[^\w~-]/gu, (character) => (/["\\]/.test(character) ? "." : `\\${character}`));
}
