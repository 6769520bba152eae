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
])("with $flags, the application has the selected features", async ({ flags, pages, api }) => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE, ...flags]);
  expect(output).toMatch(/^Created \d+ files in shop, with new secrets in \.env\.\nNext:\n {2}cd shop\n/);
  expect(code).toBe(0);
  expect(existsSync(join(parent, "shop/views/auth/login.edge"))).toBe(pages);
  expect(existsSync(join(parent, "shop/routes/api.ts"))).toBe(api);
});

test("it works without the framework installed", async () => {
  const parent = await temporaryFolder();
  const modules = join(parent, "node_modules");
  const source = join(SCRIPT, "../..");
  const { dependencies } = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  expect(Object.keys(dependencies)).toEqual(["@clack/prompts", "commander"]);
  for (const part of ["bin", "dist", "package.json"]) {
    await cp(join(source, part), join(modules, "create-ashlar", part), { recursive: true });
  }
  await mkdir(join(modules, "@clack"));
  // Through links, the dependencies of these two are found as well.
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

test("an unknown flag is an error, and nothing is created", async () => {
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

test("on a supported Node.js, the application sets engines and .nvmrc, and does not install Node.js", async () => {
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

test("on a Node.js that is too old, the application installs its own, and the generator says so", async () => {
  const parent = await temporaryFolder();
  expect(await generated(parent, "24.6.0")).toContain("Node.js 24.6.0 is too old to run it");
  const manifest = JSON.parse(await readFile(join(parent, "shop/package.json"), "utf8"));
  // Not a development dependency, which a deployment leaves out: npm start runs on it.
  expect(manifest.dependencies.node).toBe("^26.0.0");
  expect(Object.keys(manifest.devDependencies)).not.toContain("node");
  expect([manifest.allowScripts, manifest.trustedDependencies]).toEqual([{ node: true }, ["node"]]);
  expect(await readFile(join(parent, "shop/pnpm-workspace.yaml"), "utf8")).toMatch(/^allowBuilds:\n {2}node: true\n$/m);
  expect(await readFile(join(parent, "shop/.nvmrc"), "utf8")).toBe("26\n");
});

test("a folder whose name contains shell syntax is created, and its database migrated", async () => {
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

test("if interrupted during npm install, it says what exists and how to continue", async () => {
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

test("a folder that cannot be created is reported in one sentence", async () => {
  const parent = await temporaryFolder();
  await writeFile(join(parent, "shop"), "mine");
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE]);
  expect(code).toBe(1);
  expect(output).toMatch(/^ENOTDIR: .+ Nothing was written\. Choose another folder\.\n$/);
  expect(await readFile(join(parent, "shop"), "utf8")).toBe("mine");
});

test("a full disk is reported in one sentence, and leaves no new files", async () => {
  const parent = await temporaryFolder();
  await mkdir(join(parent, "shop"));
  await writeFile(join(parent, "shop/LICENSE"), "mine");
  // Files may not exceed 4 KB: the stylesheet is longer.
  const limited = `ulimit -f 4; exec "${process.execPath}" "${SCRIPT}" shop ${HERE.join(" ")}`;
  const { code, output } = await execute(parent, "bash", ["-c", limited]);
  expect(code).toBe(1);
  expect(output).toMatch(/^EFBIG: .+ Nothing was written to .+\/shop\.\n$/);
  expect(await readdir(join(parent, "shop"))).toEqual(["LICENSE"]);
});
