// Names that authors give to the parts of their API, which `ashlar api:install` finds in the application.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { COMMAND, edit, execute, generatedApplication, passesItsOwnChecks } from "../support/generated-application.ts";

type Change = (root: string) => Promise<void>;

const USER = "app/models/user.ts";
const TABLE = '  static override table = "users";\n';
const WEB_LOCATION = '    this.container.bind("routes.location", "routes/web");\n';

const inUser =
  (...lines: readonly string[]): Change =>
  (root) =>
    edit(root, USER, [TABLE, TABLE + lines.map((line) => `  ${line}\n`).join("")]);

const bound =
  (values: Readonly<Record<string, string>>): Change =>
  (root) => {
    const lines = Object.entries(values).map(([key, value]) => `    this.container.bind("${key}", "${value}");\n`);
    return edit(root, "app/kernel.ts", [WEB_LOCATION, WEB_LOCATION + lines.join("")]);
  };

const routed =
  (options: string): Change =>
  (root) =>
    edit(
      root,
      "routes/web.ts",
      ["\nexport const ROUTES", '\nimport { Api } from "ashlar/api";\n\nexport const ROUTES'],
      ["\n];", `\n  ...Api.routes(${options}),\n];`],
    );

const inMigration =
  (from: string, to: string): Change =>
  async (root) => {
    const folder = "database/migrations";
    const file = (await readdir(join(root, folder))).find((name) => name.endsWith("_create_users.ts"))!;
    const text = await readFile(join(root, folder, file), "utf8");
    expect(text).toContain(from);
    await writeFile(join(root, folder, file), text.replaceAll(from, to));
  };

const together =
  (...changes: readonly Change[]): Change =>
  async (root) => {
    for (const change of changes) await change(root);
  };

/** The names of an application's migrations, without their times. */
async function migrationsOf(root: string): Promise<string[]> {
  const files = await readdir(join(root, "database/migrations"));
  return files.map((file) => file.replace(/^[\d_]+|\.ts$/g, ""));
}

/** The doctor's findings about a migrated application. */
async function isHealthy(root: string): Promise<void> {
  for (const args of [["migrate"], ["doctor"]]) {
    const { code, output } = await execute(root, process.execPath, [COMMAND, ...args], { APP_ENV: "development" });
    expect(code, output).toBe(0);
    if (args[0] === "doctor") expect(output).toContain("0 errors, 0 warnings");
  }
}

const column = inUser('static tokenColumn = "key_digest";');
const location = bound({ "routes.api.location": "app/api/routes", "routes.api.prefix": "/v1" });
const paths = routed('{ authRoute: "/token", reauthRoute: "/token/renew" }');
const epoch = together(
  (root) =>
    edit(root, USER, ["  static tokenColumn", '  static override accessEpochColumn = "epoch";\n  static tokenColumn']),
  inMigration('"access_epoch"', '"epoch"'),
);
const members = together(
  (root) => edit(root, USER, [TABLE, '  static override table = "members";\n  static tokenColumn = "key_digest";\n']),
  inMigration('"users"', '"members"'),
);

test.for<{ what: string; change: Change; made?: string; migration?: string }>([
  { what: "a column", change: column, migration: "add_key_digest_to_users" },
  {
    what: "a location with a prefix, and paths",
    change: together(location, paths),
    made: "app/api/routes.ts",
  },
  {
    what: "a location without a prefix",
    change: bound({ "routes.api.location": "routes/rest" }),
    made: "routes/rest.ts",
  },
  {
    what: "a prefix alone, and the paths of a driver",
    change: together(bound({ "routes.api.prefix": "/v2/" }), routed('{ driver: "jwt" }')),
  },
  { what: "a table and its columns", change: together(members, epoch), migration: "add_key_digest_to_members" },
])(
  "api:install finds the names that the author has chosen: $what",
  { timeout: 60_000 },
  async ({ change, made = "routes/api.ts", migration = "add_api_token_to_users" }) => {
    const root = await generatedApplication({ pages: false, api: false });
    await change(root);
    const before = await migrationsOf(root);
    const { code, output } = await ashlar(root, "api:install");
    expect([code, output]).toEqual([0, expect.not.stringContaining("by hand")]);
    expect(output).toContain(`Created ${made}\n`);
    expect(output.match(/Created \S*routes\S*/g)).toHaveLength(1);
    expect((await migrationsOf(root)).filter((name) => !before.includes(name))).toEqual([migration]);
    await passesItsOwnChecks(root, { pages: false, api: true, verification: false });
    await isHealthy(root);
    const again = await ashlar(root, "api:install");
    expect(again).toMatchObject({ code: 0, output: "Everything is already in place; nothing was changed." });
  },
);

test("an API with routes of the author's gets no tests of routes that it doesn't have", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await location(root);
  await mkdir(join(root, "app/api"));
  await writeFile(join(root, "app/api/routes.ts"), "export const ROUTES = [];\n");
  const { output } = await ashlar(root, "api:install");
  expect(output).not.toContain("routes/api.ts");
  expect(output).not.toContain("tests/application.test.ts");
  await passesItsOwnChecks(root, { pages: false, api: false, verification: false });
});

test("an application that can't be loaded yet gets the usual names, and a notice", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await column(root);
  await edit(root, "app.ts", ['from "ashlar";\n', 'from "ashlar";\nimport "not-installed-yet";\n']);
  const { code, output } = await ashlar(root, "api:install");
  expect([code, await migrationsOf(root)]).toEqual([0, expect.arrayContaining(["add_api_token_to_users"])]);
  expect(output).toMatch(
    /^The application can't be loaded \(.*not-installed-yet.*\), so its API has the usual names: /m,
  );
});

test.for(
  [
    ["auth", "api:install", "tokens:install", "api:install --many"],
    ["api:install", "tokens:install", "auth", "api:install --many"],
    ["api:install --many", "tokens:install", "auth"],
  ].map((order) => ({ order })),
)("the commands of features can be run in any order: $order", { timeout: 60_000 }, async ({ order }) => {
  const root = await generatedApplication({ pages: false, api: false });
  for (const command of order) {
    const { code, output, errors } = await ashlar(root, ...command.split(" "));
    expect([command, code, errors, output]).toEqual([command, 0, "", expect.not.stringContaining("by hand")]);
  }
  const configuration = await readFile(join(root, "config/api.ts"), "utf8");
  expect(configuration).toContain("    tokens: many({ accessMinutes: 15, refreshDays: 30 }),\n");
  expect(configuration).toContain("personal: personal()");
  expect(configuration).not.toContain("expires:");
  await passesItsOwnChecks(root, { pages: true, api: true });
  await isHealthy(root);
});

test("a user model with several tokens gets neither the single-token mixin nor its column", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await ashlar(root, "api:install", "--many");
  await edit(root, USER, [", AuthenticatesTokens)", ")"], ['import { AuthenticatesTokens } from "ashlar/api";\n', ""]);
  const { code, output } = await ashlar(root, "api:install");
  expect([code, output]).toEqual([0, "Everything is already in place; nothing was changed."]);
});
