import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
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
  expect(output).toMatch(/^Created \d+ files in shop, with new secrets in \.env\.\n {2}Go to it {3}cd shop\n/);
  const page = pages ? "register" : "";
  expect(output.split("\n").slice(-4)).toEqual([
    "  Go to it   cd shop",
    "  Start it   npm install && npm run migrate && npm run dev",
    `  Open it    http://localhost:3000/${page}`,
    "",
  ]);
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
  // Links also make the dependencies of these two available.
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

/** Runs the generator's script with this version of Node.js. */
function onNode(parent: string, version: string, flags: readonly string[] = []): ReturnType<typeof execute> {
  const change = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;
  const preload = `data:text/javascript,${encodeURIComponent(change)}`;
  return execute(parent, process.execPath, ["--import", preload, SCRIPT, "shop", ...HERE, ...flags]);
}

/** Its output on success. */
async function generated(parent: string, version: string): Promise<string> {
  const { code, output } = await onNode(parent, version);
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

test("if Node.js is too old, the application installs its own, and the generator says so first", async () => {
  const parent = await temporaryFolder();
  expect(await generated(parent, "24.6.0")).toMatch(
    /^An application needs Node\.js 24\.7 or newer, and this is 24\.6\.0\.\nNode\.js 26 will be one of the application's packages\. Its scripts run on it\.\nCreated /,
  );
  const manifest = JSON.parse(await readFile(join(parent, "shop/package.json"), "utf8"));
  // Not a development dependency, which deployments leave out, because `npm start` runs on it.
  expect(manifest.dependencies.node).toBe("^26.0.0");
  expect(Object.keys(manifest.devDependencies)).not.toContain("node");
  expect([manifest.allowScripts, manifest.trustedDependencies]).toEqual([{ node: true }, ["node"]]);
  expect(await readFile(join(parent, "shop/pnpm-workspace.yaml"), "utf8")).toMatch(/^allowBuilds:\n {2}node: true\n$/m);
  expect(await readFile(join(parent, "shop/.nvmrc"), "utf8")).toBe("26\n");
});

test("with --no-node, it stops and says what to do, and nothing is created", async () => {
  const parent = await temporaryFolder();
  const { code, output } = await onNode(parent, "22.12.0", ["--no-node"]);
  expect([code, output]).toEqual([
    1,
    "An application needs Node.js 24.7 or newer, and this is 22.12.0.\n" +
      "Nothing was created. Install Node.js 24.7 or newer (https://nodejs.org), and run this again.\n",
  ]);
  expect(await readdir(parent)).toEqual([]);
});

test("with Yarn, whose scripts run on its own Node.js, a newer Node.js must be installed on the machine", async () => {
  const parent = await temporaryFolder();
  const { code, output } = await onNode(parent, "22.12.0", ["--package-manager", "yarn"]);
  expect([code, output.split("\n").at(-2)]).toEqual([
    1,
    "Nothing was created. Yarn runs scripts on the Node.js that it runs on itself, so a newer one as a package has no " +
      "effect. Install Node.js 24.7 or newer (https://nodejs.org), or choose another package manager with --package-manager.",
  ]);
  expect(await readdir(parent)).toEqual([]);
});

test.for([
  [
    ["--database", "mysql"],
    "error: option '--database <name>' argument 'mysql' is invalid. Allowed choices are sqlite, postgres, mariadb.",
  ],
  [["--language", "fr"], "error: option '--language <tag>' argument 'fr' is invalid. Allowed choices are en, de."],
  [
    ["--package-manager", "cargo"],
    "error: option '--package-manager <name>' argument 'cargo' is invalid. Allowed choices are npm, pnpm, yarn, bun.",
  ],
  [
    ["--json", "--pages"],
    "error: --json leaves out the pages that --pages adds. The pages' routes respond with JSON, too.",
  ],
  [
    ["--no-pages", "--registration"],
    "error: --registration needs accounts: either pages, which --no-pages leaves out, or --json.",
  ],
  [
    ["--no-pages", "--verification"],
    "error: --verification needs accounts: either pages, which --no-pages leaves out, or --json.",
  ],
  [["more"], "error: too many arguments. Expected 1 argument but got 2: shop, more."],
] as const)("%j is refused in one line, and nothing is created", async ([flags, message]) => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...flags]);
  expect([code, output]).toEqual([1, `${message}\n`]);
  expect(await readdir(parent)).toEqual([]);
});

test("a missing package manager is reported before anything is created", async () => {
  const parent = await temporaryFolder();
  const env = { PATH: await temporaryFolder() };
  const args = [SCRIPT, "shop", "--yes", "--package-manager", "pnpm"];
  const { code, output } = await execute(parent, process.execPath, args, env);
  expect([code, output]).toEqual([
    1,
    "pnpm --version: pnpm was not found. Nothing was created. Install pnpm, or choose another package manager with " +
      "--package-manager.\n",
  ]);
  expect(await readdir(parent)).toEqual([]);
});

test.for([
  { manager: "npm", test: "npm test", dev: "npm run dev", exec: "npx ashlar", files: [] },
  { manager: "pnpm", test: "pnpm test", dev: "pnpm run dev", exec: "pnpm exec ashlar", files: [] },
  { manager: "yarn", test: "yarn run test", dev: "yarn run dev", exec: "yarn run ashlar", files: [".yarnrc.yml"] },
  { manager: "bun", test: "bun run test", dev: "bun run dev", exec: "bunx ashlar", files: [] },
])(
  "with $manager, the README and the last lines use its commands",
  async ({ manager, test: tests, dev, exec, files }) => {
    const parent = await temporaryFolder();
    const { code, output } = await execute(parent, process.execPath, [
      SCRIPT,
      "shop",
      ...HERE,
      "--package-manager",
      manager,
    ]);
    expect(code).toBe(0);
    const migrate = dev.replace("dev", "migrate");
    expect(output).toContain(`\n  Start it   ${manager} install && ${migrate} && ${dev}\n`);
    const readme = await readFile(join(parent, "shop/README.md"), "utf8");
    const lines = [`${manager} install`, `${exec} key:generate`, tests, migrate, dev].map((line) => `    ${line}\n`);
    expect(readme).toContain(lines.join(""));
    const own = ["pnpm-workspace.yaml", ".yarnrc.yml"].filter((file) => existsSync(join(parent, "shop", file)));
    expect(own).toEqual(files);
    if (manager !== "npm") expect(readme).not.toMatch(/\bnp[mx] (?!package)/);
  },
);

test("without registration, a script adds accounts, and refuses an address twice", async () => {
  const parent = await mkdtemp(join(import.meta.dirname, "../../.generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const made = await execute(parent, process.execPath, [SCRIPT, "shop", "--yes", "--no-install", "--no-registration"]);
  expect(made.output).toContain("(add an account first: npm run add-user --");
  const root = join(parent, "shop");
  expect(existsSync(join(root, "app/controllers/auth/register-controller.ts"))).toBe(false);
  const add = (...args: string[]) => execute(root, process.execPath, ["add-user.ts", ...args]);
  expect(await add("Ada", " Ada@Example.com")).toEqual({
    code: 0,
    output: expect.stringMatching(/^ada@example\.com can log in with the password [\w-]{20}\n$/),
  });
  expect(await add("Ada", "ada@example.com")).toEqual({ code: 1, output: "ada@example.com already has an account.\n" });
  for (const incomplete of [["Ada"], ["", "bob@example.com"], [" ", "bob@example.com"]]) {
    expect(await add(...incomplete)).toEqual({
      code: 1,
      output: 'Give a name and an email address: add-user "Ada Lovelace" ada@example.com\n',
    });
  }
});

test("a folder whose name contains shell syntax is created, and its database migrated", async () => {
  // Inside the package, so that the new application finds the framework without an installation.
  const parent = await mkdtemp(join(import.meta.dirname, "../../.generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const name = `Tom & Jerry's "100 %PATH%" $HOME`;
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, name, "--yes", "--no-install"]);
  expect(output).toContain("Migrating the database …\nMigrated the database.\n  Go to it   cd ");
  expect(code).toBe(0);
  expect(existsSync(join(parent, name, "database/app.sqlite"))).toBe(true);
});

test("the migration uses the new application's settings, not those of the shell", async () => {
  // Inside the package, so that the new application finds the framework without an installation.
  const parent = await mkdtemp(join(import.meta.dirname, "../../.generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const env = {
    APP_ENV: "production",
    APP_KEY: "short",
    DATABASE_CONNECTION: "sqlite",
    DATABASE_PATH: join(parent, "precious.sqlite"),
    DATABASE_URL: "postgres://127.0.0.1:1/precious",
    NODE_ENV: "production",
    TRUSTED_PROXIES: "nonsense",
  };
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", "--yes", "--no-install"], env);
  expect([code, output]).toEqual([
    0,
    expect.stringContaining(
      "Migrated the database.\nThis is the database in .env. Started from this shell, the application uses another one, because the shell sets " +
        "DATABASE_CONNECTION, DATABASE_PATH, DATABASE_URL.\n",
    ),
  ]);
  expect(existsSync(join(parent, "shop/database/app.sqlite"))).toBe(true);
  expect(await readdir(parent)).toEqual(["shop"]);
});

test("with --no-migrate, there is no database, and migrating is one of the next steps", async () => {
  // Inside the package, so that the new application finds the framework, and could migrate.
  const parent = await mkdtemp(join(import.meta.dirname, "../../.generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE]);
  expect([code, output]).toEqual([0, expect.not.stringContaining("Migrating")]);
  expect(await readdir(join(parent, "shop/database"))).toEqual(["migrations"]);
});

test("a default folder that is not empty is refused before the package manager is asked for its version", async () => {
  const parent = await temporaryFolder();
  await mkdir(join(parent, "ashlar-application"));
  await writeFile(join(parent, "ashlar-application/mine.txt"), "mine");
  const args = [SCRIPT, "--yes", "--package-manager", "pnpm"];
  const { code, output } = await execute(parent, process.execPath, args, { PATH: await temporaryFolder() });
  expect([code, output]).toEqual([1, expect.stringContaining("ashlar-application is not empty (mine.txt)")]);
});

test("a folder without a name is refused", async () => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "", ...HERE]);
  expect([code, output]).toEqual([1, "error: the project directory has no name.\n"]);
  expect(await readdir(parent)).toEqual([]);
});

/** A folder with a program called npm. */
async function folderWithNpm(script: string): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "npm"), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, "npm"), 0o755);
  return folder;
}

/** What a package manager writes before it fails. */
const HALF = "mkdir -p node_modules/half && echo { > node_modules/half/package.json && echo { > package-lock.json";

/** The complete list of names in a new folder, without traces of an installation or a database. */
async function completeNames(root: string): Promise<readonly string[]> {
  const parent = await temporaryFolder();
  await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE]);
  const names = async (folder: string): Promise<string[]> => (await readdir(folder, { recursive: true })).toSorted();
  const undated = (list: readonly string[]) => list.map((name) => name.replace(/\d{4}(?:_\d+){3}_/, ""));
  expect(undated(await names(root))).toEqual(undated(await names(join(parent, "shop"))));
  for (const name of await names(root)) {
    const { size } = await stat(join(root, name));
    expect([name, size > 0]).toEqual([name, true]);
  }
  return await names(root);
}

test("an installation that fails leaves the complete application and nothing else, and says how to continue", async () => {
  const parent = await temporaryFolder();
  const env = { PATH: `${await folderWithNpm(`${HALF}; echo the reason; exit 7`)}:/bin:/usr/bin` };
  const child = spawn(process.execPath, [SCRIPT, "my shop", "--yes"], { cwd: parent, env });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code).toBe(1);
  expect(errors).toBe(
    "the reason\nnpm install: exit code 7.\nThe application's files are complete, and this step's leftovers were removed. " +
      "To continue:\n  cd 'my shop'\n  npm install\n  npm run migrate\n  npm run dev\n",
  );
  expect((await stat(join(parent, "my shop/.env"))).mode & 0o777).toBe(0o600);
  await completeNames(join(parent, "my shop"));
});

test("--verbose shows what the package manager prints; otherwise it is shown if it fails", async () => {
  const PATH = `${await folderWithNpm("echo what npm says")}:/bin:/usr/bin`;
  for (const [flags, times] of [
    [[], 0],
    [["--verbose"], 1],
  ] as const) {
    const args = [SCRIPT, "shop", "--yes", ...flags];
    const { code, output } = await execute(await temporaryFolder(), process.execPath, args, { PATH });
    expect([code, output.split("what npm says").length - 1]).toEqual([0, times]);
  }
});

/**
 * Starts the generator in a separate process group, and waits until its package manager has started.
 *
 * @param before what the package manager does before that
 */
async function installing(parent: string, script: string, before = ":"): Promise<ReturnType<typeof startProcess>> {
  const begun = `echo > "${parent}/begun"`;
  const PATH = `${await folderWithNpm(`${HALF}; ${before}; ${begun}; ${script}`)}:/bin:/usr/bin`;
  const generator = startProcess(parent, process.execPath, [SCRIPT, "shop", "--yes"], { PATH });
  await generator.printed(/Installing the packages with npm …/);
  await expect.poll(() => existsSync(join(parent, "begun"))).toBe(true);
  return generator;
}

describe.for([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s during the installation", ([signal, exit]) => {
  test("leaves the complete application and nothing else, and says how to continue", async () => {
    const parent = await temporaryFolder();
    const generator = await installing(parent, "exec sleep 600");
    // Sent only to the generator, which has to pass it on to its child processes.
    generator.child.kill(signal);
    expect((await generator.ended).code).toBe(exit);
    expect(generator.output()).toContain(
      "npm install: was interrupted.\nThe application's files are complete, and this step's leftovers were removed. " +
        "To continue:\n  cd shop\n  npm install\n  npm run migrate\n  npm run dev\n",
    );
    await completeNames(join(parent, "shop"));
  });
});

test("a second Ctrl+C ends a package manager that ignores the first, and its child processes", async () => {
  const parent = await temporaryFolder();
  const trap = `trap 'echo > "${parent}/ignored"' INT`;
  const ignoring = "(while :; do mkdir -p node_modules/more; sleep 0.01; done) & while :; do sleep 0.01; done";
  const generator = await installing(parent, ignoring, trap);
  generator.child.kill("SIGINT");
  await expect.poll(() => existsSync(join(parent, "ignored"))).toBe(true);
  generator.child.kill("SIGINT");
  expect((await generator.ended).code).toBe(130);
  await completeNames(join(parent, "shop"));
});

test("a package that the manager's own process leaves running does not write to the folder afterwards", async () => {
  const parent = await temporaryFolder();
  const straggler = "(while :; do mkdir -p node_modules/late; sleep 0.01; done) > /dev/null 2>&1 & exit 3";
  const generator = await installing(parent, straggler);
  expect((await generator.ended).code).toBe(1);
  await completeNames(join(parent, "shop"));
});

test("an interruption while files are written leaves only the files that were there before", async () => {
  const parent = await temporaryFolder();
  await mkdir(join(parent, "shop"));
  await writeFile(join(parent, "shop/LICENSE"), "mine");
  // Interrupts itself when a certain file is opened.
  const change = `
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    const { writeFile } = fs;
    fs.writeFile = async (path, ...rest) => {
      await writeFile(path, ...rest);
      if (String(path).includes(process.env.INTERRUPTED_AT)) {
        process.kill(process.pid, "SIGINT");
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    syncBuiltinESMExports();`;
  const preload = `data:text/javascript,${encodeURIComponent(change)}`;
  for (const INTERRUPTED_AT of ["package.json", "login-controller.ts", ".env."]) {
    const args = ["--import", preload, SCRIPT, "shop", ...HERE];
    const { code, output } = await execute(parent, process.execPath, args, { INTERRUPTED_AT });
    expect([INTERRUPTED_AT, code]).toEqual([INTERRUPTED_AT, 130]);
    expect(output).toContain("Nothing was created.");
    expect(await readdir(join(parent, "shop"))).toEqual(["LICENSE"]);
  }
});

test("after a kill that leaves part of an application, the next run says to delete it, and then creates it", async () => {
  const parent = await temporaryFolder();
  // Kills itself when a certain file has been written.
  const change = `
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    const { writeFile } = fs;
    fs.writeFile = async (path, ...rest) => {
      await writeFile(path, ...rest);
      if (String(path).endsWith("login-controller.ts")) process.kill(process.pid, "SIGKILL");
    };
    syncBuiltinESMExports();`;
  const preload = `data:text/javascript,${encodeURIComponent(change)}`;
  const killed = startProcess(parent, process.execPath, ["--import", preload, SCRIPT, "shop", ...HERE]);
  expect((await killed.ended).signal).toBe("SIGKILL");
  const root = join(parent, "shop");
  expect([existsSync(join(root, "package.json")), existsSync(join(root, ".env"))]).toEqual([true, false]);

  const again = () => execute(parent, process.execPath, [SCRIPT, "shop", ...HERE]);
  const refused = await again();
  const hint = " If it is a new application whose creation was cut off, delete it and run this again.\n";
  expect([refused.code, refused.output.endsWith(`or empty this one.${hint}`)]).toEqual([1, true]);
  await rm(root, { recursive: true });
  expect((await again()).code).toBe(0);
  await completeNames(root);
  // Neither a complete application nor a folder with other files counts as interrupted.
  const complete = await again();
  expect([complete.code, complete.output.endsWith("or empty this one.\n")]).toEqual([1, true]);
  await rm(root, { recursive: true });
  await mkdir(root);
  await writeFile(join(root, "mine.txt"), "mine");
  expect((await again()).output).toMatch(/or empty this one\.\n$/);
});

test("an interruption during the migration leaves no database, and says how to continue", async () => {
  // Inside the package, so that the new application finds the framework without an installation.
  const parent = await mkdtemp(join(import.meta.dirname, "../../.generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const change = `
    if (process.argv[2] === "migrate") {
      const { writeFileSync } = await import("node:fs");
      writeFileSync("database/app.sqlite", "half");
      writeFileSync("../begun", "");
      setInterval(() => {}, 1000);
      await new Promise(() => {});
    }`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(change)}`;
  const generator = startProcess(parent, process.execPath, [SCRIPT, "shop", "--yes", "--no-install"], { NODE_OPTIONS });
  await generator.printed(/Migrating the database …/);
  await expect.poll(() => existsSync(join(parent, "begun"))).toBe(true);
  generator.child.kill("SIGINT");
  expect((await generator.ended).code).toBe(130);
  expect(generator.output()).toContain("To continue:\n  cd shop\n  npm run migrate\n  npm run dev\n");
  await completeNames(join(parent, "shop"));
});

test.for(["shop", "shop/below/it"])("%s, where shop is a file, is refused in one line", async (folder) => {
  const parent = await temporaryFolder();
  await writeFile(join(parent, "shop"), "mine");
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, folder, ...HERE]);
  const file = join(parent, "shop");
  expect([code, output]).toEqual([1, `${file} is a file, not a folder. Nothing was written. Choose another folder.\n`]);
  expect(await readFile(file, "utf8")).toBe("mine");
});

// The first one's permissions allow writing, but nothing can be created in it.
test.skipIf(process.platform !== "linux").for(["/proc/shop", "/proc/shop/below/it", "/proc"])(
  "%s, where no folder can be created, is refused in one line",
  async (folder) => {
    const { code, output } = await execute(await temporaryFolder(), process.execPath, [SCRIPT, folder, ...HERE]);
    expect(code).toBe(1);
    expect(output).toMatch(
      /^The folder \/proc cannot be written \(E[A-Z]+\)\. Nothing was written\. Choose another folder\.\n$/,
    );
  },
);

test.for(["~", "~/shop"])(
  "%s, which only a shell would expand, is refused with the intended folder",
  async (folder) => {
    const parent = await temporaryFolder();
    const env = { HOME: "/home/ada", USERPROFILE: "/home/ada" };
    const { code, output } = await execute(parent, process.execPath, [SCRIPT, folder, ...HERE], env);
    expect([code, output]).toEqual([
      1,
      "Only a shell replaces ~ with your home folder. Nothing was written. Write it out: " +
        `${join("/home/ada", folder.slice(1))}\n`,
    ]);
    expect(await readdir(parent)).toEqual([]);
  },
);

test("an unusable folder is refused before Node.js is mentioned", async () => {
  const parent = await temporaryFolder();
  await writeFile(join(parent, "shop"), "mine");
  const { output } = await onNode(parent, "22.12.0", ["--no-node"]);
  expect(output).toContain("is a file, not a folder");
});

test("a symbolic link to a missing folder is reported in one sentence", async () => {
  const parent = await temporaryFolder();
  await symlink(join(parent, "missing"), join(parent, "link"), "junction");
  for (const folder of ["link", "link/shop"]) {
    const { code, output } = await execute(parent, process.execPath, [SCRIPT, folder, ...HERE]);
    expect(code).toBe(1);
    expect(output).toMatch(
      /^\S+[/\\]link is a symbolic link to a folder that doesn't exist\. Nothing was written\. Choose another folder, or create that one\.\n$/,
    );
  }
  expect(await readdir(parent)).toEqual(["link"]);
});

test("a full disk is reported in one sentence, and leaves no new files", async () => {
  const parent = await temporaryFolder();
  await mkdir(join(parent, "shop"));
  await writeFile(join(parent, "shop/LICENSE"), "mine");
  // Files are limited to 4 KB, and the stylesheet is longer.
  const limited = `ulimit -f 4; exec "${process.execPath}" "${SCRIPT}" shop ${HERE.join(" ")}`;
  const { code, output } = await execute(parent, "bash", ["-c", limited]);
  expect(code).toBe(1);
  expect(output).toMatch(/^EFBIG: .+ Nothing was written to .+\/shop\.\n$/);
  expect(await readdir(join(parent, "shop"))).toEqual(["LICENSE"]);
});
