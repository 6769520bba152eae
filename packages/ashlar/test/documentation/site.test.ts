import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DOCS, importPaths, parts, readPage } from "../../../../docs/.vitepress/contents.ts";
import { brokenMarkdownLinks } from "../../../../scripts/docs-links.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { execute } from "../support/generated-application.ts";
import { REPOSITORY } from "../support/samples.ts";
import { type StaticSite, serveFolder } from "../support/static-site.ts";
import { makeFolder } from "../support/temporary-folder.ts";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Markdown of the repository that is not part of the site. */
const READMES = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"];
const PACKAGES = ["packages/ashlar/README.md", "packages/create-ashlar/README.md"];

const pages = parts().flatMap(({ groups }) => groups.flatMap((group) => group.pages));

test("the sidebar lists every page of the manual", async () => {
  const files = (await readdir(DOCS, { recursive: true })).map((file) => file.replaceAll("\\", "/"));
  const written = files.filter(
    (file) => /\.md$/.test(file) && !/^(?:node_modules|\.vitepress|reference\/api)\//.test(file),
  );
  const listed = [...pages.map((page) => `${page}.md`), "index.md"];
  expect(listed.toSorted()).toEqual(written.toSorted());
});

test("every page has a title, and every page for application authors has a description", () => {
  const own = parts().flatMap(({ groups }) =>
    groups.filter((group) => !group.isInternal).flatMap((group) => group.pages),
  );
  const described = own.map((page) => readPage(page));
  // The page about stores of accounts is older than the descriptions.
  expect(
    described.filter(({ file, description }) => !/^\S.*\.$/.test(description) && file !== "account-stores.md"),
  ).toEqual([]);
  for (const page of pages) expect(readPage(page).title).not.toBe("");
});

test("every link in the repository's Markdown leads to a file, and to one of its headings", async () => {
  expect(await brokenMarkdownLinks(REPOSITORY, [...READMES, ...PACKAGES])).toEqual([]);
});

describe("the built site", () => {
  const { folder, remove } = makeFolder({});
  let site: StaticSite;
  beforeAll(async () => {
    const built = await execute(REPOSITORY, process.execPath, ["scripts/docs.ts", "--out", folder]);
    // The build checks every link and anchor.
    expect(built.code, built.output).toBe(0);
    site = await serveFolder(folder);
    // Half a minute of a processor's time, which a busy machine has to share.
  }, 600_000);
  afterAll(async () => {
    await site?.close();
    remove();
  });

  test("has every page, including one for each import path", async () => {
    const files = [
      ...pages.map((page) => `${page}.html`),
      ...importPaths().map((path) => `reference/api/${path}/index.html`),
    ];
    expect(files.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
  });

  test("describes every public class on a separate page, with the types used only in its options", async () => {
    const page = await readFile(join(folder, "reference/api/ashlar/classes/HttpRequest.html"), "utf8");
    expect(page).toContain(">HttpRequest <");
    const auth = await readFile(join(folder, "reference/api/ashlar/auth/index.html"), "utf8");
    expect(auth).toContain('id="authrouteoptions"');
  });

  test("has its pages as Markdown, and a list of them", async () => {
    const list = await readFile(join(folder, "llms.txt"), "utf8");
    const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => path!);
    expect(links).toContain("account-stores.md");
    expect(links.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });

  inBrowser("in a browser", () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => browser?.close());
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close();
    });

    async function openPage(width: number, colorScheme: "light" | "dark", asked: string[] = []): Promise<Page> {
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme,
        reducedMotion: "reduce",
      });
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      page.on("request", (request) => void asked.push(request.url()));
      return page;
    }

    test("search finds the pages about a task without contacting other hosts", async () => {
      const asked: string[] = [];
      const page = await openPage(1280, "light", asked);
      await page.goto(`${site.url}/`);
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByRole("searchbox").fill("reset password");
      const results = page.locator(".VPLocalSearchBox .result");
      await expect.poll(() => results.count()).toBeGreaterThan(1);
      expect(await results.first().textContent()).toMatch(/reset|password/i);
      await results.first().click();
      await expect.poll(() => new URL(page.url()).pathname).not.toBe("/");
      const hosts = new Set(
        asked
          .map((url) => new URL(url))
          .filter(({ protocol }) => protocol !== "data:")
          .map(({ origin }) => origin),
      );
      expect([...hosts]).toEqual([site.url]);
    });

    test.for([
      ["a phone", 390, "light"],
      ["a phone", 390, "dark"],
      ["a desktop", 1280, "light"],
      ["a desktop", 1280, "dark"],
    ] as const)("pages are accessible on %s, %i pixels wide, in %s", async ([, width, scheme]) => {
      const page = await openPage(width, scheme);
      for (const path of ["/", "/account-stores.html", "/reference/api/ashlar/jwt/"]) {
        await page.goto(`${site.url}${path}`);
        await page.evaluate(AXE);
        const violations = await page.evaluate(
          "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))",
        );
        expect(violations, path).toEqual([]);
        // Nothing makes the page scroll sideways.
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      }
    });
  });
});
