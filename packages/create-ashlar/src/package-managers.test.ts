import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { installInvocation, npmInvocation, runningManager } from "./package-managers.ts";

/** A new folder of this name, with these files in it. */
function folderNamed(name: string, files: Readonly<Record<string, string>>): string {
  const parent = mkdtempSync(join(tmpdir(), "create-ashlar-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(parent, name, path)), { recursive: true });
    writeFileSync(join(parent, name, path), text);
  }
  return join(parent, name);
}

/** Replaces npm's script and prints its arguments. */
const SCRIPT = "console.log(JSON.stringify({ args: process.argv.slice(2), folder: process.cwd() }));";
const NPM = "node_modules/npm/bin/npm-cli.js";

// What a shell splits: cmd.exe at spaces, & | ^ ( ) and %, sh at quotes, $ and `.
const NAMES = ["Program Files (x86)", "Tom & Jerry", "100 %PATH% ^ !", `"it's" $(id) \`id\``, "Größe 漢字"];

describe("in a folder whose name a shell would split", () => {
  test.for(NAMES.flatMap((name) => ["linux", "win32"].map((platform) => ({ name, platform }))))(
    "npm gets its arguments unchanged: $name, $platform",
    ({ name, platform }) => {
      const folder = folderNamed(name, { "npm-cli.js": SCRIPT });
      const machine = { platform, execPath: process.execPath, env: { npm_execpath: join(folder, "npm-cli.js") } };
      const args = ["run", "--silent", name];
      const invocation = npmInvocation(args, machine);
      const { stdout, stderr } = spawnSync(invocation.command, invocation.args, { cwd: folder, encoding: "utf8" });
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toEqual({ args, folder });
    },
  );
});

describe("on Windows, where npm is a batch file that only a shell can run", () => {
  test("npm's script next to node.exe runs, unless npm itself ran the generator", () => {
    const folder = folderNamed("nodejs", { [NPM]: "", "npm.cmd": "" });
    const machine = { platform: "win32", execPath: join(folder, "node.exe"), env: {} };
    expect(npmInvocation(["install"], machine)).toEqual({
      command: machine.execPath,
      args: [join(folder, NPM), "install"],
    });
  });

  test.for(["PATH", "Path"])("otherwise the script of the first npm in %s", (variable) => {
    const [empty, first, second] = ["a", "b c", "d"].map((name) =>
      folderNamed(name, name === "a" ? { "x.txt": "" } : { [NPM]: "", "npm.cmd": "" }),
    );
    const machine = {
      platform: "win32",
      execPath: join(empty!, "node.exe"),
      env: { [variable]: `;${empty};${first};${second}` },
    };
    expect(npmInvocation(["install"], machine).args).toEqual([join(first!, NPM), "install"]);
  });

  test("otherwise a version manager's npm executable, also without a shell", () => {
    expect(npmInvocation(["install"], { platform: "win32", execPath: "/nowhere/node.exe", env: {} })).toEqual({
      command: "npm",
      args: ["install"],
    });
  });
});

test("elsewhere, npm is the one in PATH, whatever is next to node", () => {
  const folder = folderNamed("bin", { [NPM]: "", "npm.cmd": "" });
  const machine = { platform: "linux", execPath: join(folder, "node"), env: { PATH: folder } };
  expect(npmInvocation(["install"], machine)).toEqual({ command: "npm", args: ["install"] });
});

test("on Windows, an empty entry of PATH does not mean the current folder", () => {
  const folder = folderNamed("untrusted", { [NPM]: "", "npm.cmd": "" });
  const program = `
    import { installInvocation, npmInvocation, runningManager } from ${JSON.stringify(new URL("package-managers.ts", import.meta.url))};
    const machine = { platform: "win32", execPath: "/nowhere/node.exe", env: { PATH: ";" } };
    console.log(npmInvocation(["install"], machine).command);`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(stdout.trim()).toBe("npm");
});

test("npx reports its own script, and npm's is next to it", () => {
  const folder = folderNamed("bin", { "npm-cli.js": "", "npx-cli.js": "" });
  const machine = { platform: "linux", execPath: "/bin/node", env: { npm_execpath: join(folder, "npx-cli.js") } };
  expect(npmInvocation(["install"], machine).args[0]).toBe(join(folder, "npm-cli.js"));
});

test("another package manager that ran the generator is not mistaken for npm", () => {
  const folder = folderNamed("pnpm", { "pnpm.cjs": "" });
  const machine = { platform: "linux", execPath: "/bin/node", env: { npm_execpath: join(folder, "pnpm.cjs") } };
  expect(npmInvocation(["install"], machine)).toEqual({ command: "npm", args: ["install"] });
});

describe("another package manager", () => {
  const agents = {
    pnpm: "pnpm/12.21.0 npm/? node/v26.10.0",
    yarn: "yarn/4.18.1 npm/? node/v26.10.0",
    bun: "bun/1.4.5",
  };

  test.for(Object.entries(agents))("%s is recognized by its user agent", ([name, agent]) => {
    expect(runningManager({ npm_config_user_agent: agent })).toBe(name);
  });

  test("npm is the default, even for an unknown one", () => {
    expect([runningManager({}), runningManager({ npm_config_user_agent: "other/1.0" })]).toEqual(["npm", "npm"]);
  });

  test("the script of the package manager that runs the generator is used", () => {
    const folder = folderNamed("Program Files", { "pnpm.cjs": "" });
    const env = { npm_config_user_agent: agents.pnpm, npm_execpath: join(folder, "pnpm.cjs") };
    const machine = { platform: "win32", execPath: "/bin/node", env };
    expect(installInvocation("pnpm", machine)).toMatchObject({
      command: "/bin/node",
      args: [join(folder, "pnpm.cjs"), "install"],
    });
    // That script is not Yarn's.
    expect(installInvocation("yarn", machine)).toMatchObject({ command: "yarn", args: ["install"], needsShell: true });
  });

  test("Yarn may write the lock file that a new application lacks, even if CI is set", () => {
    const env = { CI: "true" };
    expect(installInvocation("yarn", { platform: "linux", execPath: "/bin/node", env })).toEqual({
      command: "yarn",
      args: ["install"],
      env: { YARN_ENABLE_IMMUTABLE_INSTALLS: "false" },
    });
  });

  test("otherwise it is the one in PATH, started by a shell only on Windows", () => {
    const machine = { platform: "linux", execPath: "/bin/node", env: {} };
    expect(installInvocation("bun", machine)).toEqual({ command: "bun", args: ["install"], env: {} });
    expect(installInvocation("bun", { ...machine, platform: "win32" }).needsShell).toBe(true);
  });
});
