import type { BodyPath } from "./deployment-facts.ts";

/**
 * Returns nginx's blocks for routes with their own body limit, so that only these paths may have such bodies: nginx
 * stores them on its disk before the application is asked. Those that are streamed it sends on at once.
 *
 * @param upstream the name of the instances; with `-streams`, the name of the same instances for routes that stream
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

/** Twice a limit, as nginx reads sizes: the application itself responds to bodies that are slightly too large. */
export function nginxSize(bytes: number): string {
  // 0 turns nginx's limit off.
  return bytes === Number.POSITIVE_INFINITY ? "0" : `${Math.ceil((2 * bytes) / 1024 ** 2)}m`;
}

/** The expression for the paths of a route. nginx compares it with the decoded path. */
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
  // A quote or a backslash would also have to be escaped for nginx's own syntax.
  return segment.replaceAll(/[^\w~-]/gu, (character) => (/["\\]/.test(character) ? "." : `\\${character}`));
}
