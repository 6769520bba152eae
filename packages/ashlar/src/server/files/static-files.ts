import { statSync } from "node:fs";
import { join } from "node:path";
import type { ServerMiddleware } from "srvx";
import { CheckedHeaders, FastResponse, FreshResponse, requestPath, requestSearch } from "../../http/index.ts";
import type { StaticFiles } from "../../kernel/index.ts";
import { requestForFile } from "../../node/index.ts";
import { FileList } from "./file-list.ts";
import { fileVersions } from "./file-version.ts";
import { type FileResponse, withoutOpenFile } from "./static-body.ts";

/** How long a browser may use a file without checking whether it has changed. */
const MAX_AGE_SECONDS = 0;
/** The content at a URL with the file's fingerprint never changes (RFC 8246). */
const FOR_GOOD = "public, max-age=31536000, immutable";
/**
 * The maximum size of a file whose fingerprint is checked. Any client can put a fingerprint into a URL, and checking it
 * must not block the event loop.
 */
const MAX_CHECKED_BYTES = 4 * 1024 * 1024;
/** The number of paths of served files that are remembered. */
const MAX_REMEMBERED = 10_000;
/** Names that public files can't have, and names that would lead to another folder. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
const REFUSED = /[\u0000-\u001f\u007f\\]|\/\/|(?:^|\/)\.\.?(?:\/|$)/;
/** The query of a URL that `asset()` creates in a view. */
const VERSION = /^\?v=([\da-f]+)$/;

/**
 * Serves the files of a folder to GET and HEAD: streamed, with validators (`ETag`, `Last-Modified`) and single ranges.
 * A file is found by any correct encoding of its name, even if accented letters are composed differently.
 *
 * A file that is requested with the fingerprint of its content, as in the URLs that `asset()` writes in views, may be
 * cached forever. Another fingerprint is ignored, because while some servers have the new files and others still have
 * the old ones, a cache must not keep an old file under the new file's URL. A file of more than 4 MiB is always
 * revalidated.
 *
 * No spelling or symbolic link leads out of the folder, and names that begin with a dot aren't served, except
 * `.well-known` (RFC 8615).
 *
 * @param folder the absolute path, such as that of `public/`
 * @param remembers whether to keep a list of the files, so that other paths need no disk access; an added file is then
 * found within a second
 * @param more additional headers for every file
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
  let loading: Promise<ServerMiddleware> | null = null;
  const none = new FastResponse(null);
  const versionOf = fileVersions(MAX_CHECKED_BYTES);
  const respond = async (raw: Request): Promise<Response | null> => {
    const path = requestPath(raw);
    const wanted = publicPath(path);
    if (wanted === null) return null;
    const name = list === null ? wanted : await list.find(wanted);
    if (name === null) return null;
    loading ??= load(folder);
    const serve = await loading;
    const version = VERSION.exec(requestSearch(raw))?.[1];
    // Checked before the file is read. If the file is then replaced, the old content isn't taken for the new one.
    const isForGood = version !== undefined && version === versionOf(join(folder, name));
    let asked = requestForFile(raw, name);
    let found = await serve(asked, () => none);
    if (found === none && list === null && !/^[ -~]*$/.test(name)) {
      // On disk, accented letters may be composed differently.
      asked = requestForFile(raw, (await new FileList(folder).find(name)) ?? name);
      found = await serve(asked, () => none);
    }
    if (found === none) return null;
    if (served.size < MAX_REMEMBERED) served.add(path);
    return withHeaders(await withoutOpenFile(raw, found, () => serve(asked, () => none)), more, isForGood);
  };
  return Object.assign(respond, { hasServed: (path: string) => served.has(path) });
}

function withHeaders({ status, headers, body }: FileResponse, more: CheckedHeaders, isForGood: boolean): Response {
  headers.set("x-content-type-options", "nosniff");
  for (const [name, values] of more.entries) headers.set(name, values.join(", "));
  if (isForGood && status < 400) headers.set("cache-control", FOR_GOOD);
  return new FreshResponse(body, { status, headers: [...headers] });
}

/**
 * Returns a URL's path, decoded once, if it can belong to a public file; `null` if an escape is malformed or stands for
 * a slash, or if the path contains a backslash, a control character, an empty segment, or a segment `.` or `..`.
 */
function publicPath(path: string): string | null {
  if (/%2f|%5c/i.test(path)) return null;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return null;
  }
  return REFUSED.test(decoded) ? null : decoded;
}

/** Loads srvx's file server at the first request for a file, because it loads `node:zlib`. */
async function load(folder: string): Promise<ServerMiddleware> {
  const { staticMiddleware } = await import("srvx/static");
  return staticMiddleware({ dir: folder, compress: false, maxAge: MAX_AGE_SECONDS });
}
