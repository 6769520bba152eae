import type { Application } from "../../src/boot/index.ts";
import type { HttpContext, Next } from "../../src/http/index.ts";
import type { MiddlewareEntry } from "../../src/kernel/index.ts";
import type { RouteEntry } from "../../src/routing/index.ts";
import { buildApplication } from "./build-application.ts";

/**
 * Creates an application with only routes, and the stacks `web`, `api` and `loud`, which do nothing.
 *
 * @param http the middleware around every request
 */
export function applicationOf(
  routes: readonly RouteEntry[],
  http: readonly MiddlewareEntry[] = [],
): Promise<Application> {
  return buildApplication({
    routes,
    httpMiddleware: http,
    middleware: { web: [], api: [], loud: [(_: HttpContext, next: Next) => next()] },
  });
}

/** A response whose body has been read. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Headers;
}

/** Requests a path from an application. */
export async function ask(application: Application, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await application.fetch(new Request(`http://localhost${path}`, init));
  return { status: response.status, body: await response.text(), headers: response.headers };
}

/** A POST with a value as JSON. */
export function json(value: unknown): RequestInit {
  return { method: "POST", body: JSON.stringify(value), headers: { "content-type": "application/json" } };
}
