import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { SessionMiddleware } from "../../session/index.ts";
import { contextFor } from "./application-hooks.ts";

/** The result of a function that ran in its own request. */
export interface OwnRequestResult<T> {
  readonly value: T;
  /** The `Set-Cookie` headers that the response would have had. */
  readonly setCookies: readonly string[];
}

/**
 * Runs a function in a request that matches no route, with the visitor's session if the application has sessions. The
 * session doesn't count this request, so flashed data stays for the visitor's next one.
 */
export async function inOwnRequest<T>(
  application: Application,
  request: Request,
  task: (context: HttpContext) => Promise<T>,
): Promise<OwnRequestResult<T>> {
  const context = contextFor(application, request);
  const value = await run(application, context, task);
  return { value, setCookies: context.startedResponse?.toResponse().headers.getSetCookie() ?? [] };
}

async function run<T>(
  { container }: Application,
  context: HttpContext,
  task: (context: HttpContext) => Promise<T>,
): Promise<T> {
  if (!container.has("session")) return task(context);
  const inSession = (): Promise<T> => {
    context.session.reflash();
    return task(context);
  };
  return (await new SessionMiddleware(container).handle(context, inSession)) as T;
}
