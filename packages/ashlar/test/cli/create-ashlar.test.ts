import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCRIPT = join(import.meta.dirname, "../../../create-ashlar/bin/create-ashlar.js");
const HERE = ["--yes", "--no-install", "--no-migrate"];

test.for([
  { flags: [], pages: true, api: true },
  { flags: ["--no-pages"], pages: false, api: true },
  { flags: ["--no-api"], pages: true, api: false },
  { flags: ["--no-pages", "--no-api"], pages: false, api: false },
])("with $flags the application has what they select", async ({ flags, pages, api }) => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE, ...flags]);
  expect(output).toMatch(/^Created \d+ files in shop, with new secrets in \.env\.\nNext:\n {2}cd shop\n/);
  expect(code).toBe(0);
  expect(existsSync(join(parent, "shop/views/auth/login.edge"))).toBe(pages);
  expect(existsSync(join(parent, "shop/routes/api.ts"))).toBe(api);
});

test("it contains what it needs of the framework", async () => {
  const parent = await temporaryFolder();
  const modules = join(parent, "node_modules");
  const source = join(SCRIPT, "../..");
  const { dependencies } = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  expect(Object.keys(dependencies)).toEqual(["@clack/prompts", "commander"]);
  for (const part of ["bin", "dist", "package.json"]) {
    await cp(join(source, part), join(modules, "create-ashlar", part), { recursive: true });
  }
  await mkdir(join(modules, "@clack"));
  // Links lead to the packages that these two need in turn.
  for (const name of Object.keys(dependencies)) {
    await symlink(dirname(findPackageJSON(name, SCRIPT)!), join(modules, name), "junction");
  }
  const script = join(modules, "create-ashlar/bin/create-ashlar.js");
  const { code, output } = await execute(parent, process.execPath, [script, "shop", ...HERE]);
  expect([code, output]).toEqual([0, expect.stringContaining("Created ")]);
  const manifest = JSON.parse(await readFile(join(parent, "shop/package.json"), "utf8"));
  const { version } = JSON.parse(await readFile(join(source, "../ashlar/package.json"), "utf8"));
  expect([manifest.dependencies, manifest.engines]).toEqual([{ ashlar: `^${version}` }, { node: ">=24.7" }]);
});

test("--version prints its version", async () => {
  const { version } = JSON.parse(await readFile(join(SCRIPT, "../../package.json"), "utf8")) as { version: string };
  const { code, output } = await execute(await temporaryFolder(), process.execPath, [SCRIPT, "--version"]);
  expect([code, output]).toEqual([0, `${version}\n`]);
});

test("an unknown flag ends it, and nothing is created", async () => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", "--no-page"]);
  expect(code).toBe(1);
  expect(output).toContain("Did you mean --no-pages?");
  expect(existsSync(join(parent, "shop"))).toBe(false);
});

/** What the generator's script prints with this version of Node.js. */
async function generated(parent: string, version: string): Promise<string> {
  const change = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;
  const preload = `data:text/javascript,${encodeURIComponent(change)}`;
  const { code, output } = await execute(parent, process.execPath, ["--import", preload, SCRIPT, "shop", ...HERE]);
  expect(code).toBe(0);
  return output;
}

test("with a Node.js that can run it, the application requires one by engines and .nvmrc, and installs none", async () => {
  const parent = await temporaryFolder();
  await generated(parent, "24.21.0");
  const manifest = JSON.parse(await readFile(join(parent, "shop/package.json"), "utf8"));
  expect(manifest.engines).toEqual({ node: ">=24.7" });
  const forDevelopment = ["@types/node", "oxlint", "oxlint-tsgolint", "typescript", "youch"];
  expect(Object.keys(manifest.devDependencies)).toEqual(forDevelopment);
  expect([manifest.allowScripts, manifest.trustedDependencies]).toEqual([undefined, undefined]);
  expect(existsSync(join(parent, "shop/pnpm-workspace.yaml"))).toBe(false);
  expect(await readFile(join(parent, "shop/.nvmrc"), "utf8")).toBe("24\n");
});

test("with one that is too old, the application brings its own, and the generator says so", async () => {
  const parent = await temporaryFolder();
  expect(await generated(parent, "24.6.0")).toContain("Node.js 24.6.0 is too old to run it");
  const manifest = JSON.parse(await readFile(join(parent, "shop/package.json"), "utf8"));
  // Not among those for development, which a deployment leaves out: npm start runs on it.
  expect(manifest.dependencies.node).toBe("^26.0.0");
  expect(Object.keys(manifest.devDependencies)).not.toContain("node");
  expect([manifest.allowScripts, manifest.trustedDependencies]).toEqual([{ node: true }, ["node"]]);
  expect(await readFile(join(parent, "shop/pnpm-workspace.yaml"), "utf8")).toMatch(/^allowBuilds:\n {2}node: true\n$/m);
  expect(await readFile(join(parent, "shop/.nvmrc"), "utf8")).toBe("26\n");
});

test("a folder whose name a shell would interpret is created, and its database migrated", async () => {
  // Inside the package, so that the new application finds the framework without an installation.
  const parent = await mkdtemp(join(import.meta.dirname, "../../.generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const name = `Tom & Jerry's "100 %PATH%" $HOME`;
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, name, "--yes", "--no-install"]);
  expect(output).toContain("create_users");
  expect(output).toContain("Next:\n");
  expect(code).toBe(0);
  expect(existsSync(join(parent, name, "database/app.sqlite"))).toBe(true);
});

/** A folder with a program called npm. */
async function folderWithNpm(script: string): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "npm"), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, "npm"), 0o755);
  return folder;
}

test("an installation that fails leaves the application complete, and says how to continue", async () => {
  const parent = await temporaryFolder();
  const env = { PATH: `${await folderWithNpm("exit 7")}:/bin:/usr/bin` };
  const child = spawn(process.execPath, [SCRIPT, "my shop", "--yes"], { cwd: parent, env });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code).toBe(1);
  expect(errors).toBe(
    "npm install: exit code 7.\nThe application itself is complete. To continue:\n" +
      '  cd "my shop"\n  npm install\n  npm run migrate\n  npm run dev\n',
  );
  expect((await stat(join(parent, "my shop/.env"))).mode & 0o777).toBe(0o600);
});

test("when interrupted while npm installs, it says what exists and how to continue", async () => {
  const parent = await temporaryFolder();
  const env = { PATH: `${await folderWithNpm("echo installing; exec sleep 60")}:/bin:/usr/bin` };
  // In a separate group, all of which receives the terminal's Ctrl+C.
  const child = spawn(process.execPath, [SCRIPT, "shop", "--yes"], { cwd: parent, env, detached: true });
  let output = "";
  const ended = new Promise((resolve) => child.on("close", resolve));
  await new Promise<void>((resolve) => {
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("installing")) resolve();
    });
  });
  process.kill(-child.pid!, "SIGINT");
  expect(await ended).toBe(1);
  expect(output).toContain("npm install: SIGINT.\nThe application itself is complete. To continue:\n  cd shop\n");
});

test("an impossible folder ends it with one sentence", async () => {
  const parent = await temporaryFolder();
  await writeFile(join(parent, "shop"), "mine");
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE]);
  expect(code).toBe(1);
  expect(output).toMatch(/^ENOTDIR: .+ Nothing was written\. Choose another folder\.\n$/);
  expect(await readFile(join(parent, "shop"), "utf8")).toBe("mine");
});

test("a full disk ends it with one sentence, and leaves nothing new behind", async () => {
  const parent = await temporaryFolder();
  await mkdir(join(parent, "shop"));
  await writeFile(join(parent, "shop/LICENSE"), "mine");
  // Files may have no more than 4 KB: the style sheet is longer.
  const limited = `ulimit -f 4; exec "${process.execPath}" "${SCRIPT}" shop ${HERE.join(" ")}`;
  const { code, output } = await execute(parent, "bash", ["-c", limited]);
  expect(code).toBe(1);
  expect(output).toMatch(/^EFBIG: .+ Nothing was written to .+\/shop\.\n$/);
  expect(await readdir(join(parent, "shop"))).toEqual(["LICENSE"]);
});
