// Creates an application as a new user would, from the packages as they would be published, in a folder with the given
// name, and runs the application's checks and tests: node scripts/try-packed.ts "my first shop". The packages have to be
// built.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Invocation, npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";

const root = join(import.meta.dirname, "..");
const name = process.argv[2] ?? "my first shop";
const folder = mkdtempSync(join(tmpdir(), "ashlar packed "));

function run(cwd: string, { command, args }: Invocation): void {
  console.log(`\n> ${command} ${args.join(" ")}`);
  const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? `exit code ${status}`}`);
}

const npm = (cwd: string, ...args: readonly string[]): void => run(cwd, npmInvocation(args));

function packed(directory: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "packages", directory, "package.json"), "utf8")) as {
    version: string;
  };
  npm(join(root, "packages", directory), "pack", "--ignore-scripts", "--pack-destination", folder);
  return join(folder, `${directory}-${version}.tgz`);
}

try {
  const [framework, generator] = [packed("ashlar"), packed("create-ashlar")];
  const command = join(folder, "command");
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  npm(folder, "install", "--prefix", command, "--no-audit", "--no-fund", generator);
  const script = join(command, "node_modules/create-ashlar/bin/create-ashlar.js");
  run(folder, { command: process.execPath, args: [script, name, "--yes", "--no-install", "--no-migrate"] });
  const application = join(folder, name);
  npm(application, "install", "--no-audit", "--no-fund", framework);
  npm(application, "run", "types");
  npm(application, "run", "lint");
  npm(application, "run", "migrate");
  npm(application, "test");
  console.log(`\nAn application in "${name}" works with the packed packages, on Node.js ${process.versions.node}.`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
