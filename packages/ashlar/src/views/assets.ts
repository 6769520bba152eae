import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const DIGEST_LENGTH = 10;

/**
 * Makes the URLs of an application's own files, with a mark of what is in them, so that no cache shows an old one after it
 * has changed: `/style.css?v=1f0e5c2a9b`.
 *
 * @param folder the absolute path of `public/`
 * @param cache whether a file is read once, or whenever it is asked for
 * @returns makes the URL of a path within the folder; without a mark where there is no such file
 */
export function assetUrls(folder: string, cache: boolean): (path: string) => string {
  const known = new Map<string, string>();
  return (path) => {
    const cached = known.get(path);
    if (cached !== undefined) return cached;
    const url = urlOf(folder, path.replace(/^\/+/, ""));
    if (cache) known.set(path, url);
    return url;
  };
}

function urlOf(folder: string, path: string): string {
  const url = `/${path.split("/").map(encodeURIComponent).join("/")}`;
  try {
    const content = readFileSync(join(folder, path));
    return `${url}?v=${createHash("sha256").update(content).digest("hex").slice(0, DIGEST_LENGTH)}`;
  } catch {
    // The page is worth more than the file: it is shown, and the browser tells what is missing.
    return url;
  }
}
