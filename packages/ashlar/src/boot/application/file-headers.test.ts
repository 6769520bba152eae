import { expect, test } from "vitest";
import { buildApplication } from "../../../test/support/build-application.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { SecurityHeadersMiddleware } from "../../http/index.ts";
import type { MiddlewareEntry } from "../../kernel/index.ts";

async function headersOfFile(web: readonly MiddlewareEntry[]): Promise<Headers> {
  const root = folderWith({ "public/logo.svg": "<svg/>" });
  const application = await buildApplication({ root, routes: [], middleware: { web } });
  return (await application.fetch(new Request("http://localhost/logo.svg"))).headers;
}

test("S160 any site may embed the files in public/, also those of an application without pages", async () => {
  for (const web of [[SecurityHeadersMiddleware], []]) {
    const headers = await headersOfFile(web);
    expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("S160 the kernel's own class decides about the headers of files", async () => {
  class Own extends SecurityHeadersMiddleware {
    static override fileHeaders = { "Cross-Origin-Resource-Policy": "same-site", "X-Robots-Tag": "noindex" };
  }
  const headers = await headersOfFile([Own]);
  expect([headers.get("cross-origin-resource-policy"), headers.get("x-robots-tag")]).toEqual(["same-site", "noindex"]);
});
