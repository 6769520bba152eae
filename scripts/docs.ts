// Builds the manual's site: `npm run docs`. It builds the API reference from the doc comments, then the pages, and checks
// every link and anchor. The site is in docs/.vitepress/dist, or in the folder after `--out`.
//
// `--from` names another folder with pages to build, without the reference. `--serve` serves the site after that.
// `npm run docs:dev` (`--dev`) serves the pages while you write them, and shows each change at once.
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build, createServer, serve } from "vitepress";
import { brokenSiteLinks } from "./docs-links.ts";

const { values } = parseArgs({
  options: {
    serve: { type: "boolean" },
    dev: { type: "boolean" },
    from: { type: "string" },
    out: { type: "string" },
    port: { type: "string" },
  },
});
const docs = values.from === undefined ? join(import.meta.dirname, "../docs") : resolve(values.from);
const port = Number(values.port ?? 5173);

if (values.from === undefined) {
  const { writeApiReference } = await import("../docs/.vitepress/api-reference.ts");
  await writeApiReference(join(docs, "reference/api"));
}
if (values.dev) {
  const server = await createServer(docs, { port, host: "127.0.0.1" });
  await server.listen();
  server.printUrls();
} else {
  await buildSite(resolve(values.out ?? join(docs, ".vitepress/dist")));
}

async function buildSite(out: string): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await build(docs, { outDir: out });
  const broken = await brokenSiteLinks(out);
  if (broken.length > 0) {
    console.error(`These links of the site lead nowhere:\n${broken.join("\n")}`);
    process.exitCode = 1;
  } else if (values.serve) {
    await serve({ root: docs, port });
  }
}
