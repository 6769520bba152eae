import { statSync } from "node:fs";
import type { ServerMiddleware } from "srvx";
import { staticMiddleware } from "srvx/static";
import { requestPath } from "../http/index.ts";

/** Serves the files of a folder; `null` where the path leads to none. */
export type StaticFiles = (raw: Request) => Promise<Response | null>;

/** How long a browser may show a file without asking again whether it has changed. */
const MAX_AGE_SECONDS = 0;

/**
 * Serves the files of a folder to GET and HEAD: streamed, with validators (`ETag`, `Last-Modified`) and single ranges.
 *
 * Nothing outside the folder is served, by whatever spelling or symbolic link, and no name that begins with a dot,
 * `.well-known` aside (RFC 8615).
 *
 * @param folder the absolute path, such as that of `public/`
 * @returns `null` where there is no such folder
 */
export function staticFiles(folder: string): StaticFiles | null {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return null;
  const serve: ServerMiddleware = staticMiddleware({ dir: folder, compress: false, maxAge: MAX_AGE_SECONDS });
  const none = new Response(null);
  return async (raw) => {
    if (!isPlainPath(requestPath(raw))) return null;
    const response = await serve(raw, () => none);
    if (response === none) return null;
    response.headers.set("x-content-type-options", "nosniff");
    return response;
  };
}

/** Refuses what no file of a site is called: malformed escapes, control characters, backslashes, escaped slashes. */
function isPlainPath(path: string): boolean {
  try {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    return !/[\u0000-\u001f\u007f\\]|%2f|%5c/i.test(decodeURIComponent(path)) && !/%2f|%5c/i.test(path);
  } catch {
    return false;
  }
}
