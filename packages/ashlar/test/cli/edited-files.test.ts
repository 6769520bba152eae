// The commands that add features, on applications whose files look different from the generated ones.
import { execFileSync } from "node:child_process";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { type Installation, planInstallation, writeInstallation } from "../../src/scaffold/index.ts";
import { ashlar } from "../support/command-line.ts";
import { checkTypes, edit, generatedApplication, passesItsOwnChecks } from "../support/generated-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const BIOME = createRequire(import.meta.url).resolve("@biomejs/biome/bin/biome");
/** The files that both features add lines to, in addition to the missing ones. */
const WIRING = ["app/kernel.ts", "app/models/user.ts", "config/providers.ts", "routes/web.ts"];
const COMMANDS = ["auth", "api:install"] as const;
const NOTHING = "Everything is already in place; nothing was changed.";

/** Every file of an application by path, without the times in migrations' names, and with secrets masked. */
async function filesOf(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = files.map(async ({ parentPath, name }) => {
    const path = relative(root, join(parentPath, name)).replace(/\d{4}_\d\d_\d\d_\d{6}_/, "");
    const text = await readFile(join(parentPath, name), "utf8");
    return [path, text.replaceAll(/^(APP_KEY|JWT_SECRET)=[\w-]{86}$/gm, "$1=<secret>")] as const;
  });
  return Object.fromEntries(await Promise.all(texts));
}

/** Formats the files that wire up the features with a different formatter. */
async function reformat(root: string, formatter: object, quoteStyle: string, semicolons: string): Promise<void> {
  const settings = join(root, "biome.json");
  await writeFile(
    settings,
    JSON.stringify({ root: true, formatter, javascript: { formatter: { quoteStyle, semicolons } } }),
  );
  execFileSync(process.execPath, [BIOME, "format", "--write", ...WIRING, "app.ts"], { cwd: root });
  await rm(settings);
}

async function addsBoth(root: string): Promise<void> {
  for (const command of COMMANDS) {
    const { code, output } = await ashlar(root, command);
    expect([code, output]).toEqual([0, expect.not.stringContaining("by hand")]);
  }
  const files = await filesOf(root);
  for (const command of COMMANDS) expect((await ashlar(root, command)).output).toBe(NOTHING);
  expect(await filesOf(root)).toEqual(files);
}

describe("auth and api:install on an application", () => {
  test.for([
    ["tabs, single quotes, no semicolons, narrow lines", "tab", "single", "asNeeded", 60, "lf"],
    ["four spaces, wide lines, CRLF", "space", "double", "always", 200, "crlf"],
  ] as const)("formatted with %s keep its format, and it passes its checks", async (format) => {
    const [, indentStyle, quotes, semicolons, lineWidth, lineEnding] = format;
    const root = await generatedApplication({ pages: false, api: false });
    await reformat(root, { indentStyle, indentWidth: 4, lineWidth, lineEnding }, quotes, semicolons);
    const before = await Promise.all(WIRING.map((file) => readFile(join(root, file), "utf8")));
    await addsBoth(root);
    for (const [index, file] of WIRING.entries()) {
      const text = await readFile(join(root, file), "utf8");
      expect(text).not.toBe(before[index]);
      const added = text.split("\n").filter((line) => !before[index]!.split("\n").includes(line));
      for (const line of added) {
        expect(line).toMatch(lineEnding === "crlf" ? /[^\s]\r$/ : /[^\s]$/);
        expect(line).toMatch(indentStyle === "tab" ? /^\t*[^ \t]/ : /^(?: {4})*[^ \t]/);
        if (quotes === "single") expect(line).not.toMatch(/"|;\s*$/);
      }
    }
    await passesItsOwnChecks(root, { pages: true, api: true });
  });

  test("in another order, with the author's own parts in between, keep both", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    const own = `// What we have ourselves.
import { Provider } from "ashlar";
import { AuthProvider as Logins } from "ashlar/auth";
import { DatabaseProvider } from "ashlar/database";
import { EventProvider } from "ashlar/events"; // ours
import { ThrottleProvider } from "ashlar/throttle";
import { ViewProvider } from "ashlar/views";

class StockProvider extends Provider {}

export const PROVIDERS = [
  DatabaseProvider, // first
  StockProvider, EventProvider,
  /* pages */
  ViewProvider,
  ThrottleProvider,
  Logins
];
`;
    await writeFile(join(root, "config/providers.ts"), own);
    await edit(
      root,
      "app/kernel.ts",
      ["    auth: [AuthenticationMiddleware],\n", ""],
      [
        "    user: [LoadUserMiddleware],\n",
        "    user: [LoadUserMiddleware],\n    // The last one is ours.\n    auth: [AuthenticationMiddleware], // kept\n",
      ],
    );
    await addsBoth(root);
    expect(await readFile(join(root, "config/providers.ts"), "utf8")).toBe(`// What we have ourselves.
import { Provider } from "ashlar";
import { ApiProvider } from "ashlar/api";
import { AuthProvider as Logins } from "ashlar/auth";
import { DatabaseProvider } from "ashlar/database";
import { EventProvider } from "ashlar/events"; // ours
import { MailProvider } from "ashlar/mail";
import { SessionProvider } from "ashlar/session";
import { ThrottleProvider } from "ashlar/throttle";
import { ViewProvider } from "ashlar/views";

class StockProvider extends Provider {}

export const PROVIDERS = [
  DatabaseProvider, // first
  StockProvider, EventProvider,
  /* pages */
  ViewProvider,
  SessionProvider,
  ThrottleProvider,
  MailProvider,
  Logins,
  ApiProvider
];
`);
    expect(await readFile(join(root, "app/kernel.ts"), "utf8")).toContain(
      "    // The last one is ours.\n    auth: [AuthenticationMiddleware], // kept\n",
    );
    await passesItsOwnChecks(root, { pages: true, api: true });
  });

  test.for(WIRING)("whose author has added the lines of %s by hand add the others", async (file) => {
    const complete = await generatedApplication();
    const root = await generatedApplication({ pages: false, api: false });
    await cp(join(complete, file), join(root, file));
    for (const other of WIRING) await edit(root, other, ["\n", "\n// Mine.\n"]);
    const before = await readFile(join(root, file), "utf8");
    await addsBoth(root);
    expect(await readFile(join(root, file), "utf8")).toBe(before);
    await checkTypes(root);
  });

  test("with a syntax error leave the file alone, and say where the error is", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    await edit(root, "app/kernel.ts", ["override routeMiddleware = {", "override routeMiddleware = {{"]);
    const before = await readFile(join(root, "app/kernel.ts"), "utf8");
    const { code, output } = await ashlar(root, "api:install");
    expect(code).toBe(0);
    expect(output).toMatch(/^app\/kernel\.ts, which can't be read: .+ \(\d+:\d+\)\n {2}\/\/ in registerRoutes\(\):$/m);
    expect(await readFile(join(root, "app/kernel.ts"), "utf8")).toBe(before);
  });
});

describe("an interrupted command", () => {
  test.for([
    ["api", "api:install"],
    ["pages", "auth"],
  ] as const)("that adds %s is completed by running it again, wherever it stopped", async ([feature, command]) => {
    const root = await generatedApplication({ pages: false, api: false });
    for (const file of WIRING) await edit(root, file, ["\n", "\n// Mine.\n"]);
    const start = join(await temporaryFolder(), "start");
    await cp(root, start, { recursive: true });
    const plan = await planInstallation(root, feature);
    await ashlar(root, command);
    const complete = await filesOf(root);
    // Each file is written in one step, so an interrupted command leaves a number of complete files.
    const every = feature === "api" ? 1 : 6;
    for (let count = 0; count <= plan.files.length; count += every) {
      const copy = join(await temporaryFolder(), `after-${count}`);
      await cp(start, copy, { recursive: true });
      const part: Installation = { ...plan, files: plan.files.slice(0, count), environment: null };
      await writeInstallation(copy, part, false);
      // The secrets come last.
      await cp(join(start, ".env"), join(copy, ".env"));
      expect((await ashlar(copy, command)).code).toBe(0);
      expect(await filesOf(copy), `after ${count} files`).toEqual(complete);
    }
  });
});

test("while printed lines are missing, each command keeps the other's additions, and its secret", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  // A spread, whose providers a command can't know, where the command would insert its own.
  await edit(
    root,
    "config/providers.ts",
    ["// The active", "const extra = [] as never[];\n\n// The active"],
    ["\n];", "\n  ...extra,\n];"],
  );
  const secret = async () => /^JWT_SECRET=.+$/m.exec(await readFile(join(root, ".env"), "utf8"))?.[0];
  await ashlar(root, "auth");
  await ashlar(root, "api:install");
  const issued = await secret();
  const files = await filesOf(root);
  for (const command of COMMANDS) await ashlar(root, command);
  expect(await filesOf(root)).toEqual(files);
  expect([issued, await secret()]).toEqual([expect.stringMatching(/^JWT_SECRET=[\w-]{86}$/), issued]);
  expect(files["app/models/user.ts"]).toContain("compose(Model, Authenticates, AuthenticatesTokens, MustVerifyEmail)");
  expect(files["config/auth.ts"]).toMatch(/web: \{ model: User \}[\s\S]*jwt: \{ model: User \}[\s\S]*ACCOUNTS/);
});
