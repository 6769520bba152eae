// Packs each package as it would be published, and checks what a user would install: publint checks the manifest,
// are-the-types-wrong every entry point. The manual in the package has to be complete, as llms.txt lists it.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Invocation, npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";

const root = join(import.meta.dirname, "..");

/** The command of an installed package, run through its script, because `node_modules/.bin` has batch files on Windows. */
function installed(name: string, command: string, args: readonly string[]): Invocation {
  const folder = join(root, "node_modules", name);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    bin: string | Readonly<Record<string, string>>;
  };
  const script = typeof bin === "string" ? bin : bin[command]!;
  return { command: process.execPath, args: [join(folder, script), ...args] };
}

function run({ command, args }: Invocation, cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) {
    console.error(`${command} ${args.join(" ")} (in ${cwd})\n${error?.message ?? stdout + stderr}`);
    process.exitCode = 1;
  }
  return stdout;
}

/** Checks that a packed library has the pages that its llms.txt lists. */
function checkManual(cwd: string, packed: ReadonlySet<string>): void {
  const pages = [...readFileSync(join(cwd, "llms.txt"), "utf8").matchAll(/\]\(([^)]+)\)/g)].map(
    ([, path = ""]) => path,
  );
  for (const file of ["llms.txt", ...pages].filter((path) => !packed.has(path))) {
    console.error(`${file} is missing from the package in ${cwd}. Run npm run build, and see "files" in package.json.`);
    process.exitCode = 1;
  }
}

const folder = await mkdtemp(join(tmpdir(), "ashlar-pack-"));
try {
  for (const name of ["ashlar", "create-ashlar"]) {
    const cwd = join(root, "packages", name);
    const pack = npmInvocation(["pack", "--json", "--ignore-scripts", "--pack-destination", folder]);
    const [packed] = JSON.parse(run(pack, cwd)) as [
      { readonly filename: string; readonly files: readonly { readonly path: string }[] },
    ];
    const tarball = join(folder, packed.filename);
    run(installed("publint", "publint", ["run", tarball, "--strict"]), cwd);
    // A command has no entry points to resolve, so only the library is checked.
    if (name === "ashlar") {
      checkManual(cwd, new Set(packed.files.map(({ path }) => path)));
      run(installed("@arethetypeswrong/cli", "attw", [tarball, "--profile", "esm-only", "--format", "ascii"]), cwd);
    }
  }
} finally {
  await rm(folder, { recursive: true });
}
