import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { VerifiesEmailMiddleware } from "../../src/auth/index.ts";
import { Route } from "../../src/routing/index.ts";
import { testApi } from "../support/api-application.ts";
import { REPOSITORY } from "../support/samples.ts";

/** What authors copy from. Decisions are about the framework's own code. */
const FOLDERS = ["docs", "examples", "packages/ashlar/stubs", "packages/ashlar/src", "packages/create-ashlar"];
const FILES = ["README.md", "SECURITY.md", "packages/ashlar/README.md"];
const LEFT_OUT = /(?:^|\/)(?:node_modules|dist|decisions|public|\.vitepress|reference\/api)\/|\.test\.ts$/;
const TEXT = /\.(?:md|ts|tsx|js|vue|stub)$/;

/** The middleware of each sample that names the guard of API tokens, and the files it stands in. */
async function samples(): Promise<ReadonlyMap<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  for (const file of await textFiles()) {
    const text = await readFile(join(REPOSITORY, file), "utf8");
    const lists = [...text.matchAll(/\.middleware\(([^)]*)\)/g)].map(([, list]) => namesIn(list!));
    // In a table that compares names, the name alone is the sample.
    if (file.startsWith("docs/coming-from/")) {
      lists.push(...[...text.matchAll(/`((?:auth|guard):jwt)`/g)].map(([, name]) => [name!]));
    }
    for (const names of lists.filter((list) => list.some((name) => name.includes(":jwt")))) {
      found.set(names.join(" "), (found.get(names.join(" ")) ?? new Set()).add(file));
    }
  }
  return found;
}

function namesIn(list: string): string[] {
  return [...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
}

async function textFiles(): Promise<string[]> {
  const found = [...FILES];
  for (const folder of FOLDERS) {
    const entries = await readdir(join(REPOSITORY, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const file = relative(REPOSITORY, join(entry.parentPath, entry.name)).replaceAll("\\", "/");
      if (entry.isFile() && TEXT.test(entry.name) && !LEFT_OUT.test(file)) found.push(file);
    }
  }
  return found;
}

test("every sample route for callers with a token refuses guests, wherever it is", async () => {
  const lists = [...(await samples())];
  expect(lists.map(([names]) => names)).toContain("auth:jwt");
  // On no stack, so that only the sample's own middleware can refuse.
  const web = lists.map(([names], index) =>
    Route.get(`/sample/${index}`, () => "reached")
      .withoutMiddleware("web")
      .middleware(...names.split(" ")),
  );
  const api = await testApi({ web, middleware: { verified: [VerifiesEmailMiddleware] } });
  const open: string[] = [];
  for (const [index, [names, files]] of lists.entries()) {
    for (const token of [{}, { authorization: "Bearer made-up" }]) {
      const { status } = await api.get(`/sample/${index}`, { headers: { accept: "application/json", ...token } });
      if (status !== 401) open.push(`${names} in ${[...files].join(", ")} answers ${status}`);
    }
  }
  expect(open).toEqual([]);
});
