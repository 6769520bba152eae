import { join } from "node:path";
import { type FileVersions, fileVersions } from "../server/index.ts";

/**
 * Creates the URLs of an application's own files, with a version made from their content: `/style.css?v=1f0e5c2a9b`. A
 * browser keeps the file under such a URL permanently, and requests another one as soon as it has changed.
 *
 * @param folder the absolute path of `public/`
 * @param cache whether a file is read once, or each time it is used
 * @param basePath the path of `APP_URL`
 * @returns a function that returns the URL of a path within the folder; without a version if the file does not exist
 */
export function assetUrls(folder: string, cache: boolean, basePath = ""): (path: string) => string {
  const known = new Map<string, string>();
  const versionOf = fileVersions();
  return (path) => {
    const cached = known.get(path);
    if (cached !== undefined) return cached;
    const url = basePath + urlOf(folder, path.replace(/^\/+/, ""), versionOf);
    if (cache) known.set(path, url);
    return url;
  };
}

function urlOf(folder: string, path: string, versionOf: FileVersions): string {
  const url = `/${path.split("/").map(encodeURIComponent).join("/")}`;
  const version = versionOf(join(folder, path));
  // The page matters more than the file: it is shown, and the browser reports the missing file.
  return version === null ? url : `${url}?v=${version}`;
}
