// `npm start`: builds the framework, makes an application in .demo/ the first time (by the code that `npm create ashlar`
// runs), migrates it, and serves it with an account to try it with.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "..");
const demo = join(root, ".demo");
const account = { name: "Demo", email: "demo@example.com", password: "stone on stone" };

function run(script: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function build(): void {
  const { status } = spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) process.exit(status ?? 1);
}

build();
if (existsSync(join(demo, "app.ts"))) run(join(root, "packages/ashlar/bin/ashlar.js"), ["migrate"], demo);
else run(join(root, "packages/create-ashlar/bin/create-ashlar.js"), [demo, "--yes", "--no-install"], root);

// Relative paths in the application's configuration count from its own folder.
process.chdir(demo);
const { default: application } = (await import(pathToFileURL(join(demo, "app.ts")).href)) as typeof import("../.demo/app.ts");
