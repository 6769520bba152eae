import { statSync } from "node:fs";
import { join } from "node:path";
import type { ServerMiddleware } from "srvx";
import { staticMiddleware } from "srvx/static";
import {
  baseOf,
  CheckedHeaders,
  FastResponse,
  FreshResponse,
  requestPath,
  requestSearch,
  splitUrl,
} from "../../http/index.ts";
import type { StaticFiles } from "../../kernel/index.ts";
import { FileList } from "./file-list.ts";
import { fileVersions } from "./file-version.ts";
import { withoutOpenFile } from "./static-body.ts";

/** How long a browser may show a file without checking whether it has changed. */
const MAX_AGE_SECONDS = 0;
/** RFC 8246: a URL that contains the fingerprint of its file never gets other content. */
const FOR_GOOD = "public, max-age=31536000, immutable";
/** Any client can put a fingerprint in a URL: what is read to check it must not block the event loop. */
const MAX_CHECKED_BYTES = 4 * 1024 * 1024;
/** How many paths of served files are remembered. */
const MAX_REMEMBERED = 10_000;
/** The query of a URL that `asset()` creates in a view. */
const VERSION = /^\?v=([\da-f]+)$/;

/**
 * Serves the files of a folder to GET and HEAD: streamed, with validators (`ETag`, `Last-Modified`) and single ranges.
 *
 * A file that is requested with the fingerprint of its content, as in the URLs that `asset()` writes in views, may be
 * cached forever. A different fingerprint is ignored: while one server has the new files and another still has the old
 * ones, no cache may keep an old file under the URL of the new one. A file of more than 4 MiB is always revalidated.
 *
 * Nothing outside the folder is served, whatever spelling or symbolic link is used, and no name that begins with a dot,
 * except `.well-known` (RFC 8615).
 *
 * @param folder the absolute path, such as that of `public/`
 * @param remembers whether to keep a list of the files, so that other paths need no disk access; a file that is added is
 *   then found within a second
 * @param more headers of every file
 * @returns `null` if the folder does not exist
 */
export function staticFiles(
  folder: string,
  remembers = false,
  more: CheckedHeaders = new CheckedHeaders([]),
): StaticFiles | null {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return null;
  const list = remembers ? new FileList(folder) : null;
  const served = new Set<string>();
  const serve: ServerMiddleware = staticMiddleware({ dir: folder, compress: false, maxAge: MAX_AGE_SECONDS });
  const none = new FastResponse(null);
  const versionOf = fileVersions(MAX_CHECKED_BYTES);
  const respond = async (request: Request): Promise<Response | null> => {
    const path = requestPath(request);
    const raw = baseOf(request) === "" ? request : withPath(request, path);
    if (!isPlainPath(path)) return null;
    if (list !== null && !(await list.has(decodeURIComponent(path)))) return null;
    const version = VERSION.exec(requestSearch(request))?.[1];
    // Ask before the file is read: if the file is replaced meanwhile, the old one is not taken for the new one.
    const isForGood = version !== undefined && version === versionOf(join(folder, decodeURIComponent(path)));
    const found = await serve(raw, () => none);
    if (found === none) return null;
    if (served.size < MAX_REMEMBERED) served.add(path);
    const { status, headers, body } = await withoutOpenFile(raw, found, () => serve(raw, () => none));
    headers.set("x-content-type-options", "nosniff");
    for (const [name, values] of more.entries) headers.set(name, values.join(", "));
    if (isForGood && status < 400) headers.set("cache-control", FOR_GOOD);
    return new FreshResponse(body, { status, headers: [...headers] });
  };
  return Object.assign(respond, { hasServed: (path: string) => served.has(path) });
}

/** A file is where the path within the application says. */
function withPath({ method, headers, url }: Request, path: string): Request {
  return new Request(`${splitUrl(url).origin}${path}`, { method, headers });
}

/** Refuses what no file of a site is named: malformed escapes, control characters, backslashes, escaped slashes. */
function isPlainPath(path: string): boolean {
  try {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
    return !/[\u0000-\u001f\u007f\\]|%2f|%5c/i.test(decodeURIComponent(path)) && !/%2f|%5c/i.test(path);
  } catch {
    return false;
  }
}
