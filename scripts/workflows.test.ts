import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const WORKFLOWS = globSync(".github/workflows/*.yml", { cwd: root }).map((path) => path.replaceAll("\\", "/"));

/** What a workflow's steps run, one command each. */
function commandsOf(path: string): string[] {
  return [...readFileSync(join(root, path), "utf8").matchAll(/^\s+(?:- )?run: (.+)$/gm)].map(([, command]) => command!);
}

test("there are workflows for each change and for a release", () => {
  expect(WORKFLOWS.toSorted()).toEqual([".github/workflows/ci.yml", ".github/workflows/release.yml"]);
});

test.for(WORKFLOWS)("every script that %s runs exists", (path) => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  const commands = commandsOf(path);
  expect(commands.length).toBeGreaterThan(3);
  for (const command of commands) {
    const [, file] = /^(?:node|bash) (\S+)/.exec(command) ?? [];
    const [, script] = /^npm (?:run )?(\S+)/.exec(command) ?? [];
    if (file !== undefined) expect(existsSync(join(root, file)), command).toBe(true);
    else expect(["ci", "publish", ...Object.keys(scripts)], command).toContain(script);
  }
});

test("each system and each supported Node.js runs the README's two commands", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  for (const command of ["npm ci && npm start", "npm ci && npm test"]) expect(readme).toContain(command);
  const text = readFileSync(join(root, ".github/workflows/ci.yml"), "utf8");
  const [, job = ""] = /^ {2}commands:\n([\s\S]*?)(?=^ {2}\w)/m.exec(text) ?? [];
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { engines: { node: string } };
  const oldest = engines.node.replace(">=", "");
  expect(job).toContain("os: [ubuntu-latest, macos-latest, windows-latest]");
  expect(job).toContain(`node: ["${oldest}.0", "${readFileSync(join(root, ".nvmrc"), "utf8").trim()}"]`);
  for (const step of ["npm ci", "node scripts/try-start.ts", "npm test"]) expect(job).toContain(`run: ${step}\n`);
});

test("each change runs the whole suite, and a release also every other check before it publishes", () => {
  expect(commandsOf(".github/workflows/ci.yml")).toContain("bash .ci/run");
  const commands = commandsOf(".github/workflows/release.yml");
  const publishing = commands.findIndex((command) => command.startsWith("npm publish"));
  expect(commands.slice(0, publishing)).toEqual([
    'node scripts/release.ts check "$GITHUB_REF_NAME"',
    "bash .ci/run",
    "npm run check",
  ]);
});
