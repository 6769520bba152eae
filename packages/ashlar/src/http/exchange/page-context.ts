import { peerAddress, setPeerAddress } from "../addresses/peer-address.ts";
import { baseOf, markBase } from "../addresses/request-url.ts";
import type { HttpContext } from "./context.ts";
import type { RouteMatch } from "./services.ts";

/**
 * Creates the context of a GET that the request's sender could have made as well, to respond to a form with a page.
 *
 * @param match the page's route; `null` for a page without one
 * @param target the page's path, below the application's own, and its query; default: those of the request
 */
export function pageContext(context: HttpContext, match: RouteMatch | null, target: string | null = null): HttpContext {
  const { raw } = context.request;
  const headers = new Headers([...raw.headers].filter(([name]) => !name.startsWith("content-")));
  const url = target === null ? raw.url : new URL(`${baseOf(raw)}${target}`, raw.url);
  const request = new Request(url, { headers });
  const peer = peerAddress(raw);
  if (peer !== null) setPeerAddress(request, peer);
  if (baseOf(raw) !== "") markBase(request, baseOf(raw));
  const Context = context.constructor as new (...parts: ConstructorParameters<typeof HttpContext>) => HttpContext;
  const page = new Context(request, context.services, match);
  page.visitor = context.visitor;
  page.useOrigin(context.origin);
  page.request.shareAddressOf(context.request);
  return page;
}
