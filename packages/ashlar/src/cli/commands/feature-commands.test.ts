import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../../../test/support/command-line.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";

const command = (name: string, run: string): string =>
  `{ name: "${name}", description: "Does ${name}.", load: async () => ({ run: async (context) => { ${run} } }) }`;

/** An application whose providers add these commands. */
function applicationWith(commands: Readonly<Record<string, readonly string[]>>, files: Record<string, string> = {}) {
  const providers = Object.entries(commands).map(
    ([name, all]) => `class ${name} { static feature = { name: "${name}", commands: [${all}] }; }`,
  );
  const list = `export const PROVIDERS = [${Object.keys(commands)}];`;
  return folderWith({ "package.json": "{}", "config/providers.ts": [...providers, list].join("\n"), ...files });
}

describe("the command of a provider", () => {
  test("is listed, and has its own help", async () => {
    const root = applicationWith({ Stock: [command("stock:install", "")], Other: [command("other", "")] });
    for (const args of [[], ["--help"], ["help"]]) {
      const { output, errors } = await ashlar(root, ...args);
      expect(output + errors).toMatch(/^ {2}stock:install .*Does stock:install\.$/m);
      expect(output + errors).toMatch(/^ {2}other .*Does other\.$/m);
    }
    const help = await ashlar(root, "stock:install", "--help");
    expect(help).toMatchObject({ code: 0, errors: "" });
    expect(help.output).toContain("Usage: ashlar stock:install");
  });

  test("its help lists its arguments, like other commands'", async () => {
    const text = "  [numbers...]  the items\\n  --driver <name>  which one\\n  --all  every one\\nRead the manual.";
    const counting = `{ name: "stock:count", description: "Counts.", help: "${text}", load: () => null }`;
    const root = applicationWith({ Stock: [counting, command("stock:install", "")] });
    expect((await ashlar(root, "stock:count", "--help")).output.trim().split("\n")).toEqual([
      ...["Usage: ashlar stock:count [options] [numbers...] [arguments...]", "", "Counts.", ""],
      ...["Arguments:", "  numbers          the items", ""],
      ...["Options:", "  --driver <name>  which one", "  --all            every one"],
      ...["  -h, --help       display help for command", "", "Read the manual."],
    ]);
    expect((await ashlar(root, "stock:install", "--help")).output).toContain("Usage: ashlar stock:install [options]\n");
  });

  test("receives all arguments after its name, including options", async () => {
    const root = applicationWith({
      Stock: [command("stock", "context.print(JSON.stringify([context.args, context.root]))")],
    });
    const { code, output, errors } = await ashlar(root, "stock", "A-7", "--count", "3", "-f", "--", "-x");
    expect([code, JSON.parse(output), errors]).toEqual([0, [["A-7", "--count", "3", "-f", "--", "-x"], root], ""]);
  });

  test("is loaded only when it is run", async () => {
    const load = `{ name: "broken", description: "Is broken.", load: () => import("./broken.ts") }`;
    const root = applicationWith({ Stock: [load, command("stock", "")] }, { "config/broken.ts.txt": "" });
    expect((await ashlar(root, "--help")).output).toContain("Is broken.");
    expect(await ashlar(root, "stock")).toEqual({ code: 0, output: "", errors: "" });
    expect(await ashlar(root, "broken")).toMatchObject({ code: 1, errors: expect.stringContaining("broken.ts") });
  });

  test("fails with the message of its error", async () => {
    const root = applicationWith({ Stock: [command("stock", 'throw new Error("sold out")')] });
    expect(await ashlar(root, "stock")).toMatchObject({ code: 1, errors: expect.stringContaining("sold out") });
  });

  test.each([
    ["stock", ""],
    ["stock", 'throw new Error("sold out");'],
    ["lang:keys", ""],
  ])("%s shuts down the application that it boots, even if it fails: %j", async (name, rest) => {
    const boot = "context.print(String((await context.application()) === (await context.application())));";
    const app = `
      import { writeFileSync } from "node:fs";
      import { createApplication, Provider } from "ashlar";
      class Stock extends Provider {
        shutdown() { writeFileSync(import.meta.dirname + "/closed", ""); }
      }
      export default await createApplication({ environment: { APP_ENV: "test" }, providers: [Stock], routes: [] });`;
    const root = applicationWith({ Stock: [command("stock", boot + rest)] }, { "app.ts": app });
    const { code, output } = await ashlar(root, name);
    expect(code).toBe(rest === "" ? 0 : 1);
    if (name === "stock") expect(output).toBe("true");
    expect(await readdir(root)).toContain("closed");
  });

  test("cannot boot a missing application", async () => {
    const root = applicationWith({ Stock: [command("stock", "await context.application()")] });
    const errors = expect.stringContaining("There is no app.ts in");
    expect(await ashlar(root, "stock")).toMatchObject({ code: 1, errors });
  });
});

describe("commands that cannot be added", () => {
  const stock = command("stock", "");
  const other = command("other:list", "");

  test.each([
    [
      "a name twice",
      { Stock: [stock], Other: [stock, other] },
      'Other: the command "stock" is already added by Stock. Neither is available. Give one of them another name.',
    ],
    [
      "one of the framework's",
      { Stock: [command("serve", "")], Other: [other] },
      'Stock: the command "serve" is already added by ashlar, whose own command is kept. Give yours another name.',
    ],
    [
      "a name with a space",
      { Stock: [command("my stock", "")], Other: [other] },
      'Stock.feature.commands: "my stock" is not a command.',
    ],
    [
      "a name that begins with a digit",
      { Stock: [command("2stock", "")], Other: [other] },
      'Stock.feature.commands: "2stock" is not a command.',
    ],
    [
      "a description that isn't text",
      { Stock: ['{ name: "stock", description: 5, load: async () => ({ run() {} }) }', other] },
      'Stock.feature.commands: "stock" is not a command.',
    ],
    [
      "nothing to load",
      { Stock: ['{ name: "stock", description: "" }', other] },
      'Stock.feature.commands: "stock" is not a command.',
    ],
  ])("%s, while the others can", async (_name, commands, problem) => {
    const root = applicationWith(commands);
    const line = `A command of this application is not available. ${problem}`;
    const unknown = await ashlar(root, "stock");
    expect(unknown.code).toBe(1);
    expect(unknown.errors).toContain(line);
    expect(unknown.errors).toContain("unknown command 'stock'");
    const help = await ashlar(root, "--help");
    expect(help).toMatchObject({ code: 0, output: expect.stringContaining("migrate:rollback") });
    expect(help.output).toMatch(/^ {2}other:list .*Does other:list\.$/m);
    expect(help.output).not.toMatch(/^ {2}(?:my |2)?stock\b/m);
    expect(help.output.match(/^ {2}serve /gm)).toHaveLength(1);
    expect(help.errors.split("\n").filter((text) => text.startsWith(line))).toHaveLength(1);
    expect(await ashlar(root, "other:list")).toMatchObject({ code: 0, output: "" });
  });

  test("do not prevent the framework's own from running", async () => {
    const root = folderWith({ "config/providers.ts": 'throw new Error("no providers")' });
    expect(await ashlar(root, "make:model", "Order")).toEqual({
      code: 0,
      output: "Created app/models/order.ts",
      errors: "",
    });
    for (const option of ["--version", "-V"]) expect(await ashlar(root, option)).toMatchObject({ code: 0, errors: "" });
    expect((await ashlar(root, "help")).errors).toContain("config/providers.ts: it could not be loaded: no providers");
  });
});

describe("publish", () => {
  const files = (published: object): string => `await context.publish(${JSON.stringify(published)})`;
  const published = {
    files: { "config/stock.ts": "export const STOCK = {};\n", "app/stock/list.ts": "export {};\n" },
    migrations: { create_stock: "// stock\n", create_items: "// items\n" },
  };
  const install = command("stock:install", files(published));

  test("writes files and migrations, in order and after the existing ones", async () => {
    const before = { "database/migrations/2099_01_01_000000_create_users.ts": "" };
    const root = applicationWith({ Stock: [install] }, before);
    const { code, output } = await ashlar(root, "stock:install");
    expect([code, output.split("\n")]).toEqual([
      0,
      [
        "Created config/stock.ts",
        "Created app/stock/list.ts",
        "Created database/migrations/2099_01_01_000001_create_stock.ts",
        "Created database/migrations/2099_01_01_000002_create_items.ts",
        "Run the migrations: npx ashlar migrate",
      ],
    ]);
    expect(await readFile(join(root, "config/stock.ts"), "utf8")).toBe(published.files["config/stock.ts"]);
    const migration = join(root, "database/migrations/2099_01_01_000001_create_stock.ts");
    expect(await readFile(migration, "utf8")).toBe("// stock\n");
    expect((await ashlar(root, "stock:install")).output).toBe("Everything is already in place; nothing was changed.");
    expect(await readdir(join(root, "database/migrations"))).toHaveLength(3);
  });

  test("leaves the author's files alone, including JavaScript ones", async () => {
    const own = {
      "config/stock.js": "// mine",
      "app/stock/list.ts": "// mine",
      "database/migrations/create_stock.ts": "",
    };
    const root = applicationWith({ Stock: [install] }, own);
    const { output } = await ashlar(root, "stock:install");
    expect(output).toMatch(/^Created database\/migrations\/\d{4}_\d\d_\d\d_\d{6}_create_items\.ts\nRun the migrations/);
    expect(await readFile(join(root, "app/stock/list.ts"), "utf8")).toBe("// mine");
  });

  test("shows the changes without writing them with --dry-run", async () => {
    const root = applicationWith({ Stock: [install] });
    const { output } = await ashlar(root, "stock:install", "--dry-run");
    expect(output).toContain("+++ b/config/stock.ts\n@@ -0,0 +1,1 @@\n+export const STOCK = {};");
    expect(output).toMatch(/\+\+\+ b\/database\/migrations\/\S+_create_items\.ts/);
    expect((await readdir(root)).toSorted()).toEqual(["config", "package.json"]);
  });

  test("lists the steps to do by hand until they are done", async () => {
    const steps = '[{ file: "app/kernel.ts", done: /StockMiddleware/, lines: ["stock: [StockMiddleware],"] }]';
    const stock = command("stock:install", `await context.publish({ steps: ${steps} })`);
    const output = async (kernel: string) =>
      (await ashlar(applicationWith({ Stock: [stock] }, { "app/kernel.ts": kernel }), "stock:install")).output;
    expect(await output("// StockMiddleware")).toContain("app/kernel.ts\n  stock: [StockMiddleware],");
    expect(await output("stock: [StockMiddleware]")).not.toContain("by hand");
  });

  test("doesn't say that everything is in place if something is left to do by hand", async () => {
    const steps = [{ file: "app/kernel.ts", lines: ["stock: [StockMiddleware],"] }];
    const stock = command(
      "stock:install",
      `await context.publish({ files: { "config/stock.ts": "" }, steps: [{ ...${JSON.stringify(steps[0])}, done: /StockMiddleware/ }] })`,
    );
    const root = applicationWith({ Stock: [stock] }, { "config/stock.ts": "", "app/kernel.ts": "" });
    const left = "\n\nAdd the following by hand:\n\napp/kernel.ts\n  stock: [StockMiddleware],";
    expect((await ashlar(root, "stock:install")).output).toBe(
      `Every file is already in place; nothing was changed.${left}`,
    );
    expect((await ashlar(root, "stock:install", "--dry-run")).output).toBe(
      `Every file is already in place; nothing would be changed.${left}`,
    );
  });

  test.each([
    [{ files: { "../stock.ts": "" } }, '"../stock.ts" is not the path of a file in the application'],
    [
      { files: { "config/../../stock.ts": "" } },
      '"config/../../stock.ts" is not the path of a file in the application',
    ],
    [{ files: { "/tmp/stock.ts": "" } }, '"/tmp/stock.ts" is not the path of a file in the application'],
    [{ files: { "": "" } }, '"" is not the path of a file in the application'],
    [{ files: { "config/": "" } }, '"config/" is not the path of a file in the application'],
    [{ files: { ".git/hooks/post-checkout": "" } }, '".git/hooks/post-checkout" is in .git. Publish to a path of'],
    [{ files: { "config/../.GIT/config": "" } }, '"config/../.GIT/config" is in .GIT.'],
    [{ files: { ".git./config": "" } }, '".git./config" is in .git.. Publish'],
    [{ files: { "node_modules . /x.js": "" } }, '"node_modules . /x.js" is in node_modules . .'],
    [{ files: { "node_modules/ashlar/x.js": "" } }, '"node_modules/ashlar/x.js" is in node_modules.'],
    [{ files: { "packages/a/node_modules/b/x.js": "" } }, '"packages/a/node_modules/b/x.js" is in node_modules.'],
    [{ files: { "a.ts": "" }, migrations: { "../stock": "" } }, '"../stock" is not the name of a migration.'],
    [{ migrations: { "create-stock": "" } }, '"create-stock" is not the name of a migration.'],
  ])("refuses %j, and writes nothing", async (unfit, problem) => {
    const root = applicationWith({ Stock: [command("stock:install", files(unfit))] });
    expect(await ashlar(root, "stock:install")).toMatchObject({ code: 1, errors: expect.stringContaining(problem) });
    expect((await readdir(root)).toSorted()).toEqual(["config", "package.json"]);
  });

  test("writes files beside .git whose names begin like it", async () => {
    const root = applicationWith({ Stock: [command("stock:install", files({ files: { ".gitattributes": "x" } }))] });
    expect((await ashlar(root, "stock:install")).output).toContain("Created .gitattributes");
  });

  test("needs an application", async () => {
    const root = folderWith({
      "config/providers.ts": `class Stock { static feature = { name: "stock", commands: [${install}] }; } export const PROVIDERS = [Stock];`,
    });
    const errors = `There is no application in ${root}. Run the command in the application's folder.`;
    expect(await ashlar(root, "stock:install")).toEqual({ code: 1, output: "", errors });
  });
});
