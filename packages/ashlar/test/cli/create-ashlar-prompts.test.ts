import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { hasPseudoTerminals, KEYS, type PseudoTerminal, startInTerminal } from "../support/pseudo-terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCRIPT = join(import.meta.dirname, "../../../create-ashlar/bin/create-ashlar.js");
const ESCAPE = "\u001b";
const SHOW = `${ESCAPE}[?25h`;
const HIDE = `${ESCAPE}[?25l`;
const { enter, up, down, space, interrupt } = KEYS;

/** The prompts in order, and the keys that accept the suggestions. */
const PROMPTS = [
  /Project directory/,
  /Add account pages/,
  /Which account features\?/,
  /Add an API/,
  /Which database\?/,
  /Which language/,
  /Which package manager\?/,
] as const;

/** Asked if there are no account pages. */
const JSON_PROMPT = /Add accounts with JSON/;

type Options = NonNullable<Parameters<typeof startInTerminal>[3]>;

function start(folder: string, args: readonly string[] = [], options: Options = {}): PseudoTerminal {
  return startInTerminal(folder, process.execPath, [SCRIPT, "--no-install", "--no-migrate", ...args], options);
}

/** Answers the prompts, one after the other. */
async function answer(terminal: PseudoTerminal, ...answers: readonly (readonly [prompt: RegExp, keys: string])[]) {
  for (const [prompt, keys] of answers) {
    await terminal.shows(prompt);
    terminal.type(keys);
  }
}

const accepting = (prompts: readonly RegExp[]) => prompts.map((prompt) => [prompt, enter] as const);

/** Makes the generator believe that it runs on another Node.js. */
function onNode(version: string): Options {
  const change = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;
  return { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(change)}` } };
}

const manifestOf = async (root: string) => JSON.parse(await readFile(join(root, "package.json"), "utf8"));

describe.skipIf(!hasPseudoTerminals)(
  `in a terminal${hasPseudoTerminals ? "" : " (no python3 with the module pty)"}`,
  () => {
    test("Enter accepts each suggestion, and three lines say how to continue", async () => {
      const parent = await temporaryFolder();
      const terminal = start(parent);
      await answer(terminal, ...accepting(PROMPTS));
      expect(await terminal.ended).toBe(0);
      const shown = stripVTControlCharacters(terminal.raw()).trimEnd().split(/\r?\n/);
      expect(shown.slice(-3)).toEqual([
        "  Go to it   cd shop",
        "  Start it   npm install && npm run migrate && npm run dev",
        "  Open it    http://localhost:3000/register",
      ]);
      const files = await readdir(join(parent, "shop"), { recursive: true });
      expect(files).toEqual(expect.arrayContaining(["routes/api.ts", "views/auth/register.edge", ".env"]));
      expect(await readFile(join(parent, "shop/.env"), "utf8")).toContain("DATABASE_CONNECTION=sqlite\n");
      expect(await readFile(join(parent, "shop/config/app.ts"), "utf8")).not.toContain("language:");
    });

    test("each prompt can be answered differently, with arrows, the space bar and letters", async () => {
      const parent = await temporaryFolder();
      const terminal = start(parent);
      await answer(
        terminal,
        [PROMPTS[0], `my place${enter}`],
        [PROMPTS[1], `y`],
        // Deselects the second feature and keeps the first.
        [PROMPTS[2], `${down}${space}${enter}`],
        [PROMPTS[3], `n`],
        [PROMPTS[4], `${down}${enter}`],
        [PROMPTS[5], `${down}${enter}`],
        // Up from the first option leads to the last.
        [PROMPTS[6], `${up}${enter}`],
      );
      expect(await terminal.ended).toBe(0);
      const root = join(parent, "my place");
      expect(existsSync(join(root, "views/auth/register.edge"))).toBe(true);
      expect(await readFile(join(root, "app/models/user.ts"), "utf8")).not.toContain("MustVerifyEmail");
      expect(existsSync(join(root, "routes/api.ts"))).toBe(false);
      expect((await manifestOf(root)).dependencies).toHaveProperty("pg");
      expect(await readFile(join(root, "config/app.ts"), "utf8")).toContain('language: "de"');
      expect(await readFile(join(root, "README.md"), "utf8")).toContain("\n    bun install\n");
      expect(stripVTControlCharacters(terminal.raw())).toContain("Go to it   cd 'my place'");
    });

    test("without account pages, their features are not asked for", async () => {
      const parent = await temporaryFolder();
      const terminal = start(parent);
      await answer(
        terminal,
        [PROMPTS[0], enter],
        [PROMPTS[1], "n"],
        [JSON_PROMPT, enter],
        ...accepting(PROMPTS.slice(3)),
      );
      expect(await terminal.ended).toBe(0);
      expect(stripVTControlCharacters(terminal.raw())).not.toMatch(PROMPTS[2]);
      expect(existsSync(join(parent, "shop/app/controllers"))).toBe(false);
    });

    test("without account pages, it offers JSON accounts and asks for their features", async () => {
      const parent = await temporaryFolder();
      const terminal = start(parent);
      await answer(
        terminal,
        [PROMPTS[0], enter],
        [PROMPTS[1], "n"],
        [JSON_PROMPT, "y"],
        [PROMPTS[2], `${down}${space}${enter}`],
        ...accepting(PROMPTS.slice(3)),
      );
      expect(await terminal.ended).toBe(0);
      expect(await readFile(join(parent, "shop/routes/web.ts"), "utf8")).toContain("{ json: true }");
      expect(await readFile(join(parent, "shop/app/models/user.ts"), "utf8")).not.toContain("MustVerifyEmail");
      expect(stripVTControlCharacters(terminal.raw())).toContain("Open it    http://localhost:3000/csrf");
    });

    test("--json and --no-pages answer whether there are pages", async () => {
      const parent = await temporaryFolder();
      for (const [flag, folder] of [
        ["--json", "one"],
        ["--no-pages", "two"],
      ] as const) {
        const terminal = start(parent, [folder, flag]);
        const prompts = flag === "--json" ? PROMPTS.slice(2) : PROMPTS.slice(3);
        await answer(terminal, ...accepting(prompts));
        expect(await terminal.ended).toBe(0);
        const shown = stripVTControlCharacters(terminal.raw());
        for (const prompt of [PROMPTS[1], JSON_PROMPT]) expect(shown).not.toMatch(prompt);
      }
    });

    test("a flag answers its question", async () => {
      const parent = await temporaryFolder();
      const flags = ["shop", "--pages", "--registration", "--no-verification", "--api"];
      const terminal = start(parent, [
        ...flags,
        "--database",
        "sqlite",
        "--language",
        "de",
        "--package-manager",
        "pnpm",
      ]);
      expect(await terminal.ended).toBe(0);
      const shown = stripVTControlCharacters(terminal.raw());
      for (const prompt of PROMPTS) expect(shown).not.toMatch(prompt);
      expect(shown).toContain("Start it   pnpm install && pnpm run migrate && pnpm run dev");
    });

    test("it asks for the account features that no flag decides", async () => {
      const parent = await temporaryFolder();
      const terminal = start(parent, ["shop", "--pages", "--no-registration"]);
      await answer(terminal, [PROMPTS[2], `${space}${enter}`], ...accepting(PROMPTS.slice(3)));
      expect(await terminal.ended).toBe(0);
      const shown = stripVTControlCharacters(terminal.raw());
      expect(shown).not.toContain("visitors create their own accounts");
      expect(await readFile(join(parent, "shop/app/models/user.ts"), "utf8")).not.toContain("MustVerifyEmail");
      expect(shown).toContain('/login   (add an account first: npm run add-user -- "Ada Lovelace" ada@example.com)');
    });

    test("the package manager that runs the generator is suggested", async () => {
      const parent = await temporaryFolder();
      const env = { npm_config_user_agent: "pnpm/12.21.0 npm/? node/v26.10.0 linux x64" };
      const terminal = start(parent, [], { env });
      await answer(terminal, ...accepting(PROMPTS));
      expect(await terminal.ended).toBe(0);
      expect(await readFile(join(parent, "shop/README.md"), "utf8")).toContain("\n    pnpm install\n");
    });

    test("a folder that is not empty is refused, and another one can be named", async () => {
      const parent = await temporaryFolder();
      await mkdir(join(parent, "shop"));
      await writeFile(join(parent, "shop/mine.txt"), "mine");
      const terminal = start(parent);
      await answer(
        terminal,
        [PROMPTS[0], enter],
        [/is not empty \(mine\.txt\)[\s\S]+?Project directory/, `other${enter}`],
      );
      await answer(terminal, ...accepting(PROMPTS.slice(1)));
      expect(await terminal.ended).toBe(0);
      expect((await readdir(parent)).toSorted()).toEqual(["other", "shop"]);
      expect(await readdir(join(parent, "shop"))).toEqual(["mine.txt"]);
    });

    test("Ctrl+C at each prompt creates nothing, and restores the cursor", async () => {
      await Promise.all(
        PROMPTS.map(async (prompt, index) => {
          const parent = await temporaryFolder();
          const terminal = start(parent);
          await answer(terminal, ...accepting(PROMPTS.slice(0, index)), [prompt, interrupt]);
          expect([prompt, await terminal.ended]).toEqual([prompt, 130]);
          await terminal.shows(/Nothing was created\./);
          expect(terminal.raw().lastIndexOf(SHOW)).toBeGreaterThan(terminal.raw().lastIndexOf(HIDE));
          expect(await readdir(parent)).toEqual([]);
        }),
      );
    });

    test.for([
      ["TERM", 143],
      ["HUP", 129],
    ] as const)("SIG%s at a prompt does the same", async ([signal, code]) => {
      const parent = await temporaryFolder();
      const terminal = start(parent);
      await answer(terminal, ...accepting(PROMPTS.slice(0, 4)));
      await terminal.shows(PROMPTS[4]);
      terminal.signal(signal);
      expect(await terminal.ended).toBe(code);
      expect(terminal.raw().lastIndexOf(SHOW)).toBeGreaterThan(terminal.raw().lastIndexOf(HIDE));
      expect(await readdir(parent)).toEqual([]);
    });

    test("if Node.js is too old, it says so first, and offers a newer one", async () => {
      const parent = await temporaryFolder();
      const terminal = start(parent, [], onNode("22.12.0"));
      await answer(terminal, [/An application needs Node\.js 24\.7 or newer, and this is 22\.12\.0\./, ""]);
      await answer(terminal, [/Add Node\.js 26 to the application/, enter], ...accepting(PROMPTS));
      expect(await terminal.ended).toBe(0);
      expect((await manifestOf(join(parent, "shop"))).dependencies.node).toBe("^26.0.0");
    });

    test.for([
      ["n", 1, "Nothing was created. Install Node.js 24.7 or newer (https://nodejs.org), and run this again."],
      [interrupt, 130, "Nothing was created."],
    ] as const)("if the newer Node.js is declined with %j, nothing is created", async ([keys, code, message]) => {
      const parent = await temporaryFolder();
      const terminal = start(parent, [], onNode("22.12.0"));
      await answer(terminal, [/Add Node\.js 26 to the application/, keys]);
      expect(await terminal.ended).toBe(code);
      expect(stripVTControlCharacters(terminal.raw())).toContain(message);
      expect(await readdir(parent)).toEqual([]);
    });

    test.for([20, 40])("in a terminal of %i columns, all prompts can be answered", async (columns) => {
      const parent = await temporaryFolder();
      const terminal = start(parent, [], { columns });
      // Questions may wrap, so each is recognized by one word.
      const words = [/Project/, /account/, /features/, /API/, /SQLite/, /Deutsch/, /pnpm/];
      await answer(terminal, ...accepting(words));
      expect(await terminal.ended).toBe(0);
      expect(existsSync(join(parent, "shop/.env"))).toBe(true);
    });

    test.for([
      [0, "Installed the packages with npm."],
      [7, "Installing the packages with npm: exit code 7"],
    ] as const)(
      "an installation that ends with %i stops its progress line, and restores the cursor",
      async ([code, line]) => {
        const parent = await temporaryFolder();
        const programs = await temporaryFolder();
        await writeFile(join(programs, "npm"), `#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.01; done\nexit ${code}\n`);
        await chmod(join(programs, "npm"), 0o755);
        const flags = ["shop", "--pages", "--registration", "--verification", "--api", "--database", "sqlite"];
        const args = [SCRIPT, ...flags, "--language", "en", "--package-manager", "npm"];
        const env = { PATH: `${programs}:/bin:/usr/bin`, npm_execpath: undefined };
        const terminal = startInTerminal(parent, process.execPath, args, { env });
        // The line moves while npm runs.
        await terminal.shows(/(Installing the packages with npm …[^…]*){3}/);
        expect(terminal.raw().lastIndexOf(HIDE)).toBeGreaterThan(terminal.raw().lastIndexOf(SHOW));
        await writeFile(join(parent, "shop/go"), "");
        // With the timer, the process would keep running.
        expect(await terminal.ended).toBe(Math.min(code, 1));
        const [, after] = terminal.raw().split(SHOW);
        expect([after, after]).toEqual([expect.stringContaining(line), expect.not.stringContaining("…")]);
        expect(terminal.raw().lastIndexOf(SHOW)).toBeGreaterThan(terminal.raw().lastIndexOf(HIDE));
      },
    );

    test("with NO_COLOR, nothing is colored", async () => {
      const colors = new RegExp(`${ESCAPE}\\[(?:\\d+;)*[349]\\dm`);
      const shown: string[] = [];
      for (const env of [{}, { NO_COLOR: "1" }]) {
        const terminal = start(await temporaryFolder(), [], { env });
        await answer(terminal, ...accepting(PROMPTS));
        expect(await terminal.ended).toBe(0);
        shown.push(terminal.raw());
      }
      expect(shown.map((raw) => colors.test(raw))).toEqual([true, false]);
    });
  },
);

test("without a terminal, nothing is asked", async () => {
  const parent = await temporaryFolder();
  const { execute } = await import("../support/generated-application.ts");
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "--no-install", "--no-migrate"]);
  expect([code, output]).toEqual([0, expect.stringContaining("Created ")]);
  expect(await readdir(parent)).toEqual(["ashlar-application"]);
});
