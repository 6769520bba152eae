import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { SecurityHeadersMiddleware } from "../../src/http/index.ts";
import { Route } from "../../src/routing/index.ts";
import { buildApplication } from "../support/build-application.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { freePort } from "../support/free-port.ts";
import { folderWith } from "../support/temporary-folder.ts";

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>';

/** A separate site, as each name below localhost is to browsers. */
async function startSite(page: string): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><title>Other</title>${page}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://other.localhost:${(server.address() as AddressInfo).port}`;
}

/** Serves an application whose pages have the default headers. */
async function serve(port: number, trustedOrigins: readonly string[], page = ""): Promise<string> {
  const url = `http://localhost:${port}`;
  const picture = Route.get("/own/picture.svg", ({ response }) =>
    response.header("content-type", "image/svg+xml").text(PICTURE),
  );
  const application = await buildApplication({
    root: folderWith({ "public/file.svg": PICTURE, "public/page.js": page }),
    middleware: { web: [SecurityHeadersMiddleware], api: [] },
    routes: [
      Route.get("/", () => '<title>Shop</title><link rel="icon" href="/file.svg"><script src="/page.js"></script>'),
      picture,
    ],
    config: { app: { APP: { url, trustedOrigins } } },
  });
  await application.listen({ port, hostname: "127.0.0.1", handleSignals: false });
  return url;
}

inBrowser("pages that are isolated from other sites, in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  test("S160 a login provider's window reports back to the page that opened it", async () => {
    const provider = await startSite("<script>opener.postMessage('logged in', '*')</script>");
    const script = `addEventListener("message", ({ data }) => (document.title = data));
      addEventListener("click", () => window.open("${provider}"));`;
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    const problems: string[] = [];
    page.on("console", (message) => problems.push(message.text()));
    await page.goto(await serve(await freePort(), [], script));
    await page.click("html");
    await expect.poll(() => page.title()).toBe("logged in");
    // Chromium logs a warning about unknown features in a policy.
    expect(problems).toEqual([]);
  });

  test.each([
    ["a trusted site", true, 7],
    ["any other site", false, 0],
  ])(
    "S160 %s embeds files from public/, and the application's pictures if it is trusted",
    async (_, isTrusted, width) => {
      const port = await freePort();
      const images = ["own/picture.svg", "file.svg"].map((path) => `<img src="http://localhost:${port}/${path}">`);
      const other = await startSite(images.join(""));
      await serve(port, isTrusted ? [other] : []);
      const page = await browser.newPage();
      onTestFinished(() => page.close());
      await page.goto(other);
      expect(await page.evaluate("[...document.images].map((image) => image.naturalWidth)")).toEqual([width, 7]);
    },
  );
});
