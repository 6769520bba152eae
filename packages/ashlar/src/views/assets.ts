import { join } from "node:path";
import { type FileVersions, fileVersions } from "../server/index.ts";

/**
 * Makes the URLs of an application's own files, with a mark of what is in them: `/style.css?v=1f0e5c2a9b`. Under such a
 * URL a browser keeps a file for good, and asks for another as soon as it has changed.
 *
 * @param folder the absolute path of `public/`
 * @param cache whether a file is read once, or whenever it is asked for
 * @returns makes the URL of a path within the folder; without a mark where there is no such file
 */
export function assetUrls(folder: string, cache: boolean): (path: string) => string {
  const known = new Map<string, string>();
  const versionOf = fileVersions();
  return (path) => {
    const cached = known.get(path);
    if (cached !== undefined) return cached;
    const url = urlOf(folder, path.replace(/^\/+/, ""), versionOf);
    if (cache) known.set(path, url);
    return url;
  };
}

function urlOf(folder: string, path: string, versionOf: FileVersions): string {
  const url = `/${path.split("/").map(encodeURIComponent).join("/")}`;
  const version = versionOf(join(folder, path));
  // The page is worth more than the file: it is shown, and the browser tells what is missing.
  return version === null ? url : `${url}?v=${version}`;
}
