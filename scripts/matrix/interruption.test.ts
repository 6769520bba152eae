import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { startProcess } from "../../packages/ashlar/test/support/long-process.ts";
import { onPostgres } from "../../packages/ashlar/test/support/services.ts";
import { folderWith } from "../../packages/ashlar/test/support/temporary-folder.ts";

const SCRIPT = join(import.meta.dirname, "../matrix.ts");
const APPLICATION = "no pages, no api, postgres, en";

/** A generator that prints its database, and then waits with a child process. */
const GENERATOR = `#!/bin/sh
sleep 600 &
echo "$! $DATABASE_URL" > "$BEGUN.new" && mv "$BEGUN.new" "$BEGUN"
wait
`;

/** npm, except that it installs this generator. */
const NPM = (npm: string): string => `#!/bin/sh
if [ "$1" != install ]; then exec "${npm}" "$@"; fi
mkdir -p node_modules/.bin && cp "$GENERATOR" node_modules/.bin/create-ashlar
`;

await onPostgres("a signal to the matrix", () => {
  test.for(["SIGINT", "SIGTERM"] as const)(
    "%s ends its child processes, and removes its folders and its database",
    async (signal) => {
      const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
      const folder = folderWith({ "bin/npm": NPM(npm), generator: GENERATOR, "tmp/.keep": "" });
      for (const program of ["bin/npm", "generator"]) chmodSync(join(folder, program), 0o755);
      const begun = join(folder, "begun");
      const matrix = startProcess(folder, process.execPath, [SCRIPT, "--only", APPLICATION], {
        ...{ TMPDIR: join(folder, "tmp"), PATH: `${join(folder, "bin")}:${process.env.PATH}` },
        ...{ BEGUN: begun, GENERATOR: join(folder, "generator") },
      });
      await expect.poll(() => existsSync(begun)).toBe(true);
      const [, pid, database] = /^(\d+) \S+\/(matrix_[\da-f]{32})\n$/.exec(readFileSync(begun, "utf8"))!;
      expect(readdirSync(join(folder, "tmp"))).toHaveLength(3);
      expect(await databasesCalled(database!)).toEqual([database]);

      // Only to the script, which must end its child processes.
      matrix.child.kill(signal);
      expect(await matrix.ended, matrix.output()).toEqual({ code: 128 + constants.signals[signal], signal: null });
      expect(matrix.output()).toBe("");
      expect(readdirSync(join(folder, "tmp"))).toEqual([".keep"]);
      expect(await databasesCalled(database!)).toEqual([]);
      await expect.poll(() => isRunning(Number(pid))).toBe(false);
    },
  );
});

/** The databases with this name, on the server that the matrix uses. */
async function databasesCalled(name: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: "postgres://postgres@127.0.0.1:5432/postgres" });
  await client.connect();
  try {
    const { rows } = await client.query("select datname from pg_database where datname = $1", [name]);
    return rows.map(({ datname }) => String(datname));
  } finally {
    await client.end();
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
