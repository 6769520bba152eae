import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

/** A folder that is served on a free port, as any web server would. */
export interface StaticSite {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves a folder with a built site.
 *
 * @param page the file to serve for every path without a file, for a front end with its own routes; default: 404
 */
export async function serveFolder(folder: string, page: string | null = null): Promise<StaticSite> {
  const server = createServer(async ({ url = "/" }, response) => {
    const path = decodeURIComponent(new URL(url, "http://localhost").pathname).replace(/\/$/, "/index.html");
    try {
      const content = await readFile(join(folder, path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(content);
    } catch {
      response.writeHead(page === null ? 404 : 200, { "content-type": "text/html; charset=utf-8" });
      response.end(await readFile(join(folder, page ?? "404.html")));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
