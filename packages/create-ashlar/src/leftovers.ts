import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** What package managers write to an application's folder. */
const OF_INSTALLATION = [
  ...["node_modules", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"],
  ...[".yarn", ".pnp.cjs", ".pnp.loader.mjs", "yarn-error.log", "npm-debug.log"],
];

/** What a migration of the default SQLite database writes to its folder. */
const OF_DATABASE = ["app.sqlite", "app.sqlite-migrations"].flatMap((file) =>
  ["", "-wal", "-shm", "-journal"].map((suffix) => `${file}${suffix}`),
);

/**
 * Records the contents of an application's folder, and returns a function that removes whatever an unfinished
 * installation has added: the next installation would trip over half a package.
 */
export function removerOfInstallation(root: string): Promise<() => Promise<void>> {
  return remover(root, OF_INSTALLATION);
}

/** Like {@link removerOfInstallation}, for a database with only some of its tables. */
export function removerOfDatabase(root: string): Promise<() => Promise<void>> {
  return remover(join(root, "database"), OF_DATABASE);
}

async function remover(folder: string, names: readonly string[]): Promise<() => Promise<void>> {
  const present = new Set(await readdir(folder));
  return async () => {
    for (const name of names.filter((one) => !present.has(one))) {
      await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
    }
  };
}
