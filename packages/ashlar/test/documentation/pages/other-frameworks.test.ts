import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pageFiles } from "../../support/page-files.ts";
import { REPOSITORY } from "../../support/samples.ts";

/** The files of the page, and those of the examples, which `test/server/examples.test.ts` compiles, builds and walks. */
const FILES: Readonly<Record<string, string>> = {
  "server.ts": "hono/server.ts",
  "fastify.ts": "fastify/server.ts",
  "src/hooks.server.ts": "sveltekit/src/hooks.server.ts",
  "src/app.d.ts": "sveltekit/src/app.d.ts",
};

test("the page shows the examples as they are", async () => {
  const shown = await pageFiles("docs/guides/other-frameworks.md");
  expect(shown.map(({ path }) => path)).toEqual(Object.keys(FILES));
  for (const { path, text } of shown) {
    expect(text).toBe(await readFile(join(REPOSITORY, "examples", FILES[path]!), "utf8"));
  }
});
