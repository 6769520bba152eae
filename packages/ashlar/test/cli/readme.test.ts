import { execFileSync } from "node:child_process";
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "../support/generated-application.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { canInstall, packageRegistry } from "../support/package-registry.ts";
import { RUNTIMES, type Runtime } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The commands in a section of a document: its indented lines outside of code fences. */
function commandsOf(document: string, heading: string): string[] {
  const [, section = ""] = document.replaceAll(/^```[\s\S]*?^```$/gm, "").split(`\n## ${heading}\n`);
  const [text = ""] = section.split("\n## ");
  return text.split("\n").flatMap((line) => (line.startsWith("    ") ? [line.trim()] : []));
}

/** The commands in the repository's README, without comments. */
async function readmeCommands(): Promise<string[]> {
  const document = await readFile(join(import.meta.dirname, "../../../../README.md"), "utf8");
  return commandsOf(document, "A new application").map((line) => line.replace(/\s+#.*$/, ""));
}

interface Machine {
  /** Runs commands in a folder, one after the other. */
  run(folder: string, commands: readonly string[]): LongProcess;
  /** Waits until the application responds with a page, and stops it. */
  answers(application: LongProcess): Promise<void>;
}

/** A developer's machine with this version of Node, which can install this repository's packages. */
async function machine(node: Runtime): Promise<Machine> {
  const registry = await packageRegistry();
  const port = String(await freePort());
  return {
    run: (folder, commands) =>
      startProcess(folder, "sh", ["-ec", commands.join("\n")], {
        PATH: `${dirname(node.path)}:${process.env.PATH}`,
        PORT: port,
        ...registry,
        // Answers yes when npm asks whether to download the generator.
        npm_config_yes: "true",
      }),
    answers: async (application) => {
      await application.printed(/is listening on http/);
      const response = await fetch(`http://localhost:${port}/register`);
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("Register")]);
      application.signalGroup("SIGTERM");
      await application.ended;
    },
  };
}

/** Creates and starts an application in a folder with a space in its name. */
async function begin(node: Runtime): Promise<string> {
  const { run, answers } = await machine(node);
  const parent = join(await temporaryFolder(), "my projects");
  await mkdir(parent);
  const commands = await readmeCommands();
  expect(commands).toEqual(["npm create ashlar@latest shop", "cd shop && npm run dev"]);
  const begun = run(parent, commands);
  await begun.printed(/Created \d+ files in shop/);
  await begun.printed(/Installed the packages with npm\./);
  await begun.printed(/Migrated the database\./);
  await answers(begun);
  const shop = join(parent, "shop");
  expect((await stat(join(shop, ".env"))).mode & 0o777).toBe(0o600);
  await expect(stat(join(shop, "node_modules/node"))).rejects.toThrow("ENOENT");
  return shop;
}

function commit(shop: string): void {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
      cwd: shop,
      encoding: "utf8",
    });
  git("init", "--quiet");
  git("add", "--all");
  git("commit", "--quiet", "--message", "Begin");
  expect(git("ls-files").split("\n")).toEqual(expect.arrayContaining([".env.example", ".gitattributes", ".nvmrc"]));
  expect(git("ls-files")).not.toMatch(/^(\.env|database\/.*sqlite.*|node_modules\/.*)$/m);
}

/** Takes over an application from another developer's repository. */
async function takeOver(shop: string, node: Runtime): Promise<void> {
  const { run, answers } = await machine(node);
  const other = await temporaryFolder();
  const readme = await readFile(join(shop, "README.md"), "utf8");
  const commands = commandsOf(readme, "On another machine");
  expect(commands[0]).toBe("git clone <address of the repository> shop");
  expect(commands).toEqual(expect.arrayContaining(["npm test", "npm run migrate"]));
  expect(commands.at(-1)).toBe("npm run dev");
  const walk = run(
    other,
    commands.map((command) => command.replace("<address of the repository>", () => `"${shop}"`)),
  );
  await walk.printed(/added \d+ packages/);
  await walk.printed(/Created \.env from \.env\.example\. APP_KEY and JWT_SECRET were written to it\./);
  await walk.printed(/fail 0\b/);
  await answers(walk);
  expect((await stat(join(other, "shop/.env"))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(other, "shop/.env"), "utf8")).not.toBe(await readFile(join(shop, ".env"), "utf8"));
}

// With CI set, a missing registry fails the tests instead of skipping them.
const isMissing = !canInstall && process.env.CI === undefined;

describe.skipIf(isMissing)(`the READMEs, followed to the letter${isMissing ? " (no package registry)" : ""}`, () => {
  const [newest, older] = RUNTIMES as readonly [Runtime, Runtime];

  test(`an application started on Node ${older.version} is taken over on Node ${newest.version}`, async () => {
    const shop = await begin(older);
    commit(shop);
    await takeOver(shop, newest);
  }, 300_000);
});
