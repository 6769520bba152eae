import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { checkTypes, edit, generatedApplication, passesItsOwnChecks } from "../support/generated-application.ts";

type Files = Readonly<Record<string, string>>;

/**
 * Every file of an application by path, without the times in migrations' names, and with secrets masked.
 */
async function filesOf(root: string): Promise<Files> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Object.fromEntries(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = relative(root, join(parentPath, name)).replace(/\d{4}_\d\d_\d\d_\d{6}_/, "");
        const text = await readFile(join(parentPath, name), "utf8");
        return [path, text.replaceAll(/^(APP_KEY|JWT_SECRET)=[\w-]{86}$/gm, "$1=<secret>")] as const;
      }),
    ),
  );
}

/** Migrations that add columns to an existing users table; a new application creates the table with them. */
const ADDED = {
  "database/migrations/add_verified_at_to_users.ts": /"verified_at"/,
  "database/migrations/add_api_token_to_users.ts": /"api_token"/,
};

function withoutUsersTable(files: Files): Files {
  const migrations = ["database/migrations/create_users.ts", ...Object.keys(ADDED)];
  return Object.fromEntries(Object.entries(files).filter(([path]) => !migrations.includes(path)));
}

const DATABASES = ["sqlite", "postgres", "mariadb"] as const;
const ORDERS = [
  ["auth", "api:install"],
  ["api:install", "auth"],
] as const;

describe("an application created without pages, API or both", () => {
  test.for(DATABASES.flatMap((database) => ORDERS.map((order) => ({ database, order }))))(
    "becomes the same as one created with both: $database, $order",
    async ({ database, order }) => {
      const added = await generatedApplication({ pages: false, api: false, database });
      for (const command of order) {
        const { code, output } = await ashlar(added, command);
        expect([code, output]).toEqual([0, expect.stringMatching(/Run the migrations: npx ashlar migrate$/)]);
      }
      const files = await filesOf(added);
      for (const [path, column] of Object.entries(ADDED)) expect(files[path]).toMatch(column);
      const wanted = await filesOf(await generatedApplication({ database }));
      expect(withoutUsersTable(files)).toEqual(withoutUsersTable(wanted));
    },
  );

  test.for([
    { has: { pages: false, api: true }, command: "auth" },
    { has: { pages: true, api: false }, command: "api:install" },
  ])("is the same after adding the missing parts: $has, $command", async ({ has, command }) => {
    const added = await generatedApplication(has);
    await ashlar(added, command);
    const files = await filesOf(added);
    expect(withoutUsersTable(files)).toEqual(withoutUsersTable(await filesOf(await generatedApplication())));
    expect(await ashlar(added, command)).toMatchObject({
      output: "Everything is already in place; nothing was changed.",
    });
    expect(await filesOf(added)).toEqual(files);
  });

  test("passes its own checks after both were added", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    await ashlar(root, "auth");
    await ashlar(root, "api:install");
    await passesItsOwnChecks(root, { pages: true, api: true });
  });
});

test("S12 .env keeps its secrets, and the patch shows none of its content", async () => {
  const root = await generatedApplication({ pages: false, api: true });
  const read = async () => parseEnv(await readFile(join(root, ".env"), "utf8"));
  const before = await read();
  const { output } = await ashlar(root, "auth", "--dry-run");
  expect(output).toMatch(/^Variables would be added to \.env\.$/m);
  for (const secret of [before.APP_KEY!, before.JWT_SECRET!]) expect(output).not.toContain(secret);
  expect(await read()).toEqual(before);
  await ashlar(root, "auth");
  expect(await read()).toEqual({
    ...before,
    MAIL_FROM: "",
    SMTP_HOST: "",
    SMTP_PORT: "587",
    SMTP_USER: "",
    SMTP_PASSWORD: "",
  });
});

test("a .env that its author has changed gets the missing variables at its end", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await edit(root, ".env", ["APP_URL=", "APP_URL=https://shop.example\nSMTP_HOST=mail.example"]);
  const before = await readFile(join(root, ".env"), "utf8");
  const { output } = await ashlar(root, "auth");
  expect(output).toContain("Changed .env\n");
  expect(output).not.toContain("by hand");
  expect(await readFile(join(root, ".env"), "utf8")).toBe(`${before}
# Mail is sent by SMTP in production; in development it is shown at /dev/mailbox.
MAIL_FROM=
SMTP_PORT=587
SMTP_USER=
SMTP_PASSWORD=
`);
});

test.for(["auth", "api:install"])("%s creates a missing file, and the lines that use it", async (command) => {
  const root = await generatedApplication({ pages: false, api: false });
  await rm(join(root, "app/kernel.ts"));
  await rm(join(root, "app/models/user.ts"));
  await edit(root, "app.ts", ['import { Kernel } from "./app/kernel.ts";\n', ""], [", kernel: Kernel", ""]);
  const { output } = await ashlar(root, command);
  expect(output).toContain("Created app/kernel.ts\nCreated app/models/user.ts\n");
  expect(output).not.toContain("by hand");
  expect(await readFile(join(root, "app.ts"), "utf8")).toBe(`import { createApplication } from "ashlar";
import { Kernel } from "./app/kernel.ts";

// Any server that speaks \`fetch\` can run the application; \`npm start\` serves it.
export default await createApplication({ kernel: Kernel, root: import.meta.dirname });
`);
});

test("omits tests that would fail until the author adds lines by hand", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await edit(root, "config/providers.ts", ["PROVIDERS = [", "PROVIDERS = inOrder(["], ["];", "]);"]);
  const tests = await readFile(join(root, "tests/application.test.ts"), "utf8");
  await ashlar(root, "api:install");
  expect(await readFile(join(root, "tests/application.test.ts"), "utf8")).toBe(tests);
});

test("api:install --dry-run writes nothing", async () => {
  const root = await generatedApplication({ api: false });
  await writeFile(join(root, "README.md"), "mine\n");
  const before = await filesOf(root);
  const { output } = await ashlar(root, "api:install", "--dry-run");
  expect(output).toContain("+++ b/routes/api.ts");
  expect(output).not.toContain("README.md");
  expect(await filesOf(root)).toEqual(before);
});

/** Removes the migrations with these names, as in an application generated by an older version. */
async function withoutMigrations(root: string, ...names: readonly string[]): Promise<void> {
  for (const file of await readdir(join(root, "database/migrations"))) {
    if (names.some((name) => file.endsWith(`_${name}.ts`))) await rm(join(root, "database/migrations", file));
  }
}

describe("--migrations", () => {
  test("auth writes the migrations that an edited application lacks, and changes nothing else", async () => {
    const root = await generatedApplication();
    await edit(root, "views/auth/login.edge", ['<div class="check">', '<div class="our check">']);
    await edit(root, "app/kernel.ts", ["verified: [VerifiesEmailMiddleware],", "// none"]);
    await edit(root, ".env", ["MAIL_FROM=", "# none"]);
    const complete = await filesOf(root);
    await withoutMigrations(root, "create_rate_limits", "create_maintenance");
    const before = await filesOf(root);
    const refused = await ashlar(root, "auth");
    expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("--migrations to write only the")]);
    const dry = await ashlar(root, "auth", "--migrations", "--dry-run");
    expect(dry.output.match(/^\+\+\+ .*/gm)).toEqual([
      expect.stringMatching(/^\+{3} b\/database\/migrations\/\d\S+_create_maintenance\.ts$/),
      expect.stringMatching(/^\+{3} b\/database\/migrations\/\d\S+_create_rate_limits\.ts$/),
    ]);
    expect(await filesOf(root)).toEqual(before);
    const { code, output } = await ashlar(root, "auth", "--migrations");
    expect([code, output.split("\n")]).toEqual([
      0,
      [
        expect.stringMatching(/^Created database\/migrations\/\d\S+_create_maintenance\.ts$/),
        expect.stringMatching(/^Created database\/migrations\/\d\S+_create_rate_limits\.ts$/),
        "Run the migrations: npx ashlar migrate",
      ],
    ]);
    expect(await filesOf(root)).toEqual(complete);
    const again = await ashlar(root, "auth", "--migrations");
    expect(again).toMatchObject({ code: 0, output: "Everything is already in place; nothing was changed." });
  });

  test("api:install writes the API's migrations", async () => {
    const root = await generatedApplication({ pages: false });
    await edit(root, ".env", ["JWT_SECRET=", "# none="]);
    const complete = await filesOf(root);
    await withoutMigrations(root, "create_rate_limits");
    const { code, output } = await ashlar(root, "api:install", "--migrations");
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^Created \S+_create_rate_limits\.ts\nRun the migrations: npx ashlar migrate$/),
    ]);
    expect(await filesOf(root)).toEqual(complete);
  });

  test("cannot be combined with --force, and needs an application", async () => {
    const root = await generatedApplication();
    const both = await ashlar(root, "auth", "--migrations", "--force");
    expect([both.code, both.errors]).toEqual([1, expect.stringContaining("cannot be used with option '--force'")]);
    await rm(join(root, "app.ts"));
    const { code, errors } = await ashlar(root, "auth", "--migrations");
    expect([code, errors]).toEqual([1, expect.stringContaining("There is no application in")]);
  });
});

describe("api:install --many", () => {
  const CONFIGURATION = "config/api.ts";
  const MANY = "    tokens: many({ accessMinutes: 15, refreshDays: 30 }),";

  /** The files that differ, and those that were added. */
  function changes(before: Files, after: Files): string[] {
    return Object.keys(after).filter((path) => after[path] !== before[path]);
  }

  test.each(["\n", "\r\n"])(
    "gives an application with single() several tokens, once, with line endings of %j",
    async (lineEnd) => {
      const root = await generatedApplication({ pages: false });
      for (const path of [CONFIGURATION, "app/kernel.ts"]) {
        const text = await readFile(join(root, path), "utf8");
        await writeFile(join(root, path), text.replaceAll("\n", lineEnd));
      }
      const before = await filesOf(root);
      const dry = await ashlar(root, "api:install", "--many", "--dry-run");
      expect(dry.output.split("\n")).toContain(`+${MANY}${lineEnd.slice(0, -1)}`);
      expect(await filesOf(root)).toEqual(before);
      const { code, output } = await ashlar(root, "api:install", "--many");
      expect([code, output.split("\n")]).toEqual([
        0,
        [
          expect.stringMatching(/^Created database\/migrations\/\d\S+_create_api_tokens\.ts$/),
          `Changed ${CONFIGURATION}`,
          "Run the migrations: npx ashlar migrate",
        ],
      ]);
      const after = await filesOf(root);
      expect(changes(before, after).sort()).toEqual([CONFIGURATION, "database/migrations/create_api_tokens.ts"]);
      const lines = after[CONFIGURATION]!.split(lineEnd);
      expect(lines).toContain('import { type DriversSettings, many } from "ashlar/api";');
      expect(lines.filter((line) => line.includes("many("))).toEqual([MANY]);
      expect(after[CONFIGURATION]).not.toContain("expires:");
      expect(after[CONFIGURATION]!.replaceAll(lineEnd, "")).not.toMatch(/[\r\n]/);
      for (const again of [["--many"], []]) {
        const second = await ashlar(root, "api:install", ...again);
        expect(second).toMatchObject({ code: 0, output: "Everything is already in place; nothing was changed." });
        expect(await filesOf(root)).toEqual(after);
      }
    },
  );

  test("leaves an application that passes its own checks", async () => {
    const root = await generatedApplication({ pages: false });
    const { code, output } = await ashlar(root, "api:install", "--many", "--migrate");
    expect([code, output]).toEqual([0, expect.stringMatching(/^Created database.+_api_tokens\.ts$/m)]);
    // The command has run them.
    expect(output).not.toContain("npx ashlar migrate");
    await passesItsOwnChecks(root, { pages: false, api: true });
  });

  test("adds the API and several tokens to an application without one", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    const { code, output } = await ashlar(root, "api:install", "--many");
    expect([code, output]).toEqual([0, expect.not.stringContaining("by hand")]);
    const files = await filesOf(root);
    expect(files[CONFIGURATION]!.split("\n")).toContain(MANY);
    expect(files["database/migrations/create_api_tokens.ts"]).toContain('createTable("api_tokens")');
  });

  test.each([
    ["with the API", { pages: true, api: true }],
    ["without it", { pages: true, api: false }],
  ])("adds the mail about a reused token to an application with pages %s, once", async (_title, features) => {
    const root = await generatedApplication(features);
    const before = await filesOf(root);
    const { code, output } = await ashlar(root, "api:install", "--many");
    expect([code, output]).toEqual([0, expect.not.stringContaining("by hand")]);
    const after = await filesOf(root);
    const mail = "app/mailables/token-reused-mail.ts";
    const views = ["views/mails/token_reused.html.edge", "views/mails/token_reused.text.edge"];
    expect(changes(before, after)).toEqual(expect.arrayContaining([mail, ...views, "config/auth.ts"]));
    expect(after["config/auth.ts"]).toContain("    tokenReused: TokenReusedMail,\n");
    await checkTypes(root);
    const second = await ashlar(root, "api:install", "--many");
    expect(second).toMatchObject({ code: 0, output: "Everything is already in place; nothing was changed." });
    expect(await filesOf(root)).toEqual(after);
  });

  test("prints the line for the mail about a reused token if the author's mails have no place for it", async () => {
    const root = await generatedApplication({ pages: true });
    await edit(root, "config/auth.ts", ["  mailables: {", "  mailables: {\n    ...{},"]);
    const { output } = await ashlar(root, "api:install", "--many");
    expect(output.slice(output.indexOf("Add the following"))).toBe(
      "Add the following by hand:\n\nconfig/auth.ts\n" +
        '  import { TokenReusedMail } from "../app/mailables/token-reused-mail.ts";\n' +
        "  // in ACCOUNTS.mailables:\n  tokenReused: TokenReusedMail,",
    );
  });

  test("leaves the author's configuration alone, and prints the missing lines", async () => {
    const root = await generatedApplication({ pages: false });
    await edit(root, CONFIGURATION, ["expires: 60", "expires: 90"]);
    const before = await filesOf(root);
    const { code, output } = await ashlar(root, "api:install", "--many");
    expect(code).toBe(0);
    expect(output.slice(output.indexOf("Add the following"))).toBe(
      `Add the following by hand:\n\n${CONFIGURATION}\n  import { many } from "ashlar/api";\n` +
        "  // in DRIVERS.jwt, instead of expires:\n  tokens: many({ accessMinutes: 15, refreshDays: 30 }),",
    );
    const after = await filesOf(root);
    expect(changes(before, after)).toEqual(["database/migrations/create_api_tokens.ts"]);
    await edit(root, CONFIGURATION, ["expires: 90", MANY.trim().slice(0, -1)]);
    await edit(root, CONFIGURATION, ["import type { DriversSettings }", "import { type DriversSettings, many }"]);
    const done = await ashlar(root, "api:install", "--many");
    expect(done).toMatchObject({ code: 0, output: "Everything is already in place; nothing was changed." });
  });

  test("writes only the migration with --migrations", async () => {
    const root = await generatedApplication({ pages: false });
    const before = await filesOf(root);
    const { output } = await ashlar(root, "api:install", "--many", "--migrations");
    expect(output).toContain(`\n${CONFIGURATION}\n  import { many } from "ashlar/api";\n`);
    expect(changes(before, await filesOf(root))).toEqual(["database/migrations/create_api_tokens.ts"]);
  });
});
