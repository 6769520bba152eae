import { statSync } from "node:fs";
import { join } from "node:path";
import { FastResponse, type ServerMiddleware } from "srvx";
import { staticMiddleware } from "srvx/static";
import { requestPath, requestSearch } from "../../http/index.ts";
import type { StaticFiles } from "../../kernel/index.ts";
import { FileList } from "./file-list.ts";
import { fileVersions } from "./file-version.ts";
import { withoutOpenFile } from "./static-body.ts";

/** How long a browser may show a file without asking again whether it has changed. */
const MAX_AGE_SECONDS = 0;
/** RFC 8246: under a URL that names what is in the file, nothing else will ever be. */
const FOR_GOOD = "public, max-age=31536000, immutable";
/** Anybody can write a mark behind a URL: what is read to check it must not hold up the loop. */
const MAX_CHECKED_BYTES = 4 * 1024 * 1024;
/** How many paths of files that were served are remembered. */
const MAX_REMEMBERED = 10_000;
/** The query of a URL that `asset()` makes in a view. */
const VERSION = /^\?v=([\da-f]+)$/;

/**
 * Serves the files of a folder to GET and HEAD: streamed, with validators (`ETag`, `Last-Modified`) and single ranges.
 *
 * A file that is asked for with the mark of what is in it, as `asset()` writes its URL in a view, may be kept for good. A
 * mark of something else changes nothing: while one server has the new files and another the old ones, no cache may keep
 * an old file under the URL of the new one. A file of more than 4 MiB is asked for anew in any case.
 *
 * Nothing outside the folder is served, by whatever spelling or symbolic link, and no name that begins with a dot,
 * `.well-known` aside (RFC 8615).
 *
 * @param folder the absolute path, such as that of `public/`
 * @param remembers whether a list of the files is kept, so that no other path costs a look at the disk; a file that is
 * added is then found a second later at most
 * @returns `null` where there is no such folder
 */
export function staticFiles(folder: string, remembers = false): StaticFiles | null {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return null;
  const list = remembers ? new FileList(folder) : null;
  const served = new Set<string>();
  const serve: ServerMiddleware = staticMiddleware({ dir: folder, compress: false, maxAge: MAX_AGE_SECONDS });
  const none = new FastResponse(null);
  const versionOf = fileVersions(MAX_CHECKED_BYTES);
  const answer = async (raw: Request): Promise<Response | null> => {
    const path = requestPath(raw);
    if (!isPlainPath(path)) return null;
    if (list !== null && !(await list.has(decodeURIComponent(path)))) return null;
    const version = VERSION.exec(requestSearch(raw))?.[1];
    // Asked before the file is read: an old one that is replaced meanwhile is then not taken for the new one.
    const isForGood = version !== undefined && version === versionOf(join(folder, decodeURIComponent(path)));
    const found = await serve(raw, () => none);
    if (found === none) return null;
    if (served.size < MAX_REMEMBERED) served.add(path);
    const { status, headers, body } = await withoutOpenFile(raw, found, () => serve(raw, () => none));
    headers.set("x-content-type-options", "nosniff");
    if (isForGood && status < 400) headers.set("cache-control", FOR_GOOD);
    return new FastResponse(body, { status, headers: [...headers] });
  };
  return Object.assign(answer, { hasServed: (path: string) => served.has(path) });
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
