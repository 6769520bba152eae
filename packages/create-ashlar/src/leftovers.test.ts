import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removerOfDatabase, removerOfInstallation } from "./leftovers.ts";

function write(root: string, paths: readonly string[], text: string): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** An application's folder with these files, which the user has written. */
function folderWith(paths: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "create-ashlar-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  write(root, paths, "mine");
  return root;
}

const INSTALLATION = [
  ...["node_modules/half/package.json", "npm-debug.log", "yarn-error.log", ".yarn/cache/half.zip"],
  ...["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", ".pnp.cjs", ".pnp.loader.mjs"],
];
const DATABASE = ["app.sqlite", "app.sqlite-migrations"].flatMap((file) =>
  ["", "-wal", "-shm", "-journal"].map((suffix) => `database/${file}${suffix}`),
);

test.for([
  { name: "an installation", removerOf: removerOfInstallation, added: INSTALLATION },
  { name: "a migration", removerOf: removerOfDatabase, added: DATABASE },
])("of $name, everything that it added is removed, and nothing else", async ({ removerOf, added }) => {
  const root = folderWith(["package.json", "database/migrations/create_users.ts"]);
  const remove = await removerOf(root);
  write(root, [...added, "notes.txt", "database/notes.txt"], "new");
  await remove();
  expect(readdirSync(root).toSorted()).toEqual(["database", "notes.txt", "package.json"]);
  expect(readdirSync(join(root, "database")).toSorted()).toEqual(["migrations", "notes.txt"]);
});

test.for([
  ...INSTALLATION.map((path) => ({ path, removerOf: removerOfInstallation })),
  ...DATABASE.map((path) => ({ path, removerOf: removerOfDatabase })),
])("$path stays if it was there before", async ({ path, removerOf }) => {
  const root = folderWith([path, "database/migrations/create_users.ts"]);
  const remove = await removerOf(root);
  await remove();
  expect(readFileSync(join(root, path), "utf8")).toBe("mine");
});
