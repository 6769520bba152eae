// Packs each package as it would be published, and checks what a user would install: publint for the manifest,
// are-the-types-wrong for every entry point.
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) {
    console.error(`${command} ${args.join(" ")} (in ${cwd})\n${stdout}${stderr}`);
    process.exitCode = 1;
  }
  return stdout;
}

const folder = await mkdtemp(join(tmpdir(), "ashlar-pack-"));
try {
  for (const name of ["ashlar", "create-ashlar"]) {
    const cwd = join(import.meta.dirname, "..", "packages", name);
    const [packed] = JSON.parse(
      run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], cwd),
    ) as [{ filename: string }];
    const tarball = join(folder, packed.filename);
    run("publint", ["run", tarball, "--strict"], cwd);
    // A command has no entry point to resolve, so only the library is held to this.
    if (name === "ashlar") run("attw", [tarball, "--profile", "esm-only", "--format", "ascii"], cwd);
  }
} finally {
  await rm(folder, { recursive: true });
}
