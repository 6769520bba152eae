import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ashlar } from "../../support/command-line.ts";
import { execute, generatedApplication } from "../../support/generated-application.ts";
import { pageFiles } from "../../support/page-files.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";

/** The files of the page, and those of the examples, which `test/server/examples.test.ts` compiles, builds and walks. */
const FILES: Readonly<Record<string, string>> = {
  "server.ts": "hono/server.ts",
  "fastify.ts": "fastify/server.ts",
  "src/hooks.server.ts": "sveltekit/src/hooks.server.ts",
  "src/app.d.ts": "sveltekit/src/app.d.ts",
};

test("the page shows the examples verbatim", async () => {
  const shown = await pageFiles("docs/guides/other-frameworks.md");
  expect(shown.map(({ path }) => path)).toEqual(Object.keys(FILES));
  for (const { path, text } of shown) {
    expect(text).toBe(await readFile(join(REPOSITORY, "examples", FILES[path]!), "utf8"));
  }
});

test("the files that the page moves into a SvelteKit site are an application there", async () => {
  const samples = await markdownSamples("docs/guides/other-frameworks.md");
  const { code } = samples.find((sample) => sample.code.startsWith("npx sv create"))!;
  const moved = /cd accounts && mv (.+) \.\.\)/.exec(code)![1]!.split(" ");
  const root = await generatedApplication();
  const entries = await readdir(root);
  expect(moved.filter((entry) => !entries.includes(entry))).toEqual([]);
  for (const entry of entries.filter((one) => !moved.includes(one))) await rm(join(root, entry), { recursive: true });
  await writeFile(join(root, "package.json"), '{ "type": "module" }');
  expect(await ashlar(root, "migrate")).toMatchObject({ code: 0, errors: "" });
  await writeFile(
    join(root, "site.ts"),
    `import accounts from "./app.ts";
    const statusOf = async (path: string) => (await accounts.fetch(new Request("http://localhost:3000" + path))).status;
    console.log(JSON.stringify([await statusOf("/register"), await statusOf("/style.css")]));
    await accounts.shutdown();`,
  );
  const { output } = await execute(root, process.execPath, ["site.ts"]);
  expect(output).toMatch(/^\[200,200\]$/m);
});
