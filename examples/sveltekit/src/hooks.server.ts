// Orders by SvelteKit, accounts by Ashlar: its pages, its API, its files in public/.
import { pathToFileURL } from "node:url";
import type { Handle } from "@sveltejs/kit";

// Not bundled: Ashlar loads the files of config/ and routes/ from the project itself.
const { default: accounts }: typeof import("../app.ts") = await import(/* @vite-ignore */ pathToFileURL("app.ts").href);

const FORM = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/;

/** The form's token, which the page's action reads as well. */
async function csrfTokenIn(request: Request): Promise<unknown> {
  if (request.method !== "POST" || !FORM.test(request.headers.get("content-type") ?? "")) return null;
  return (await request.clone().formData()).get("__token");
}

export const handle: Handle = async ({ event, resolve }) => {
  const { request, route } = event;
  const address = event.getClientAddress();
  // Ashlar handles all paths that aren't SvelteKit routes.
  if (route.id === null) return await accounts.fetch(request, { address });
  try {
    // API clients send a token from POST /api/auth.
    const guard = route.id.startsWith("/shop/") ? "jwt" : "web";
    const visitor = await accounts.authenticate(request, { address, guard, csrfToken: await csrfTokenIn(request) });
    if (visitor.user === null) return await visitor.refuse();
    event.locals.visitor = visitor;
    return visitor.apply(await resolve(event));
  } catch (error) {
    return await accounts.errorResponse(request, error, { address });
  }
};
