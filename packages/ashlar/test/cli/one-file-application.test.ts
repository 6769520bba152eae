// The commands on the application at the beginning of the README, which is one file without folders.
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { makeApplicationFolder } from "../support/application-folder.ts";
import { ashlar } from "../support/command-line.ts";
import { doctor, mend } from "../support/doctor.ts";
import { edit, execute, serve } from "../support/generated-application.ts";
import { PageVisitor } from "../support/page-visitor.ts";
import { markdownSamples } from "../support/samples.ts";

const PASSWORD = "a password of hers";

/** The relevant part of what `npm init --init-type=module -y` writes. */
const MANIFEST = `{
  "name": "shop",
  "version": "1.0.0",
  "main": "index.js",
  "scripts": {
    "test": "echo \\"Error: no test specified\\" && exit 1"
  },
  "type": "module"
}
`;

/**
 * The README's own application, set up to find the framework, with a test's additional or changed files.
 */
async function oneFileApplication(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const { folder, remove } = await makeApplicationFolder();
  onTestFinished(remove);
  const root = join(folder, "shop");
  const program = (await markdownSamples("README.md")).find(({ code }) => code.includes(".listen("))!.code;
  for (const [path, text] of Object.entries({ "package.json": MANIFEST, "app.ts": program, ...files })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

/** Every file by path, with its text; without the database. */
async function snapshot(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !entry.name.includes("sqlite"))
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [relative(root, file), await readFile(file, "utf8")] as const)),
  );
}

const migrationsOf = (files: Readonly<Record<string, string>>): string[] =>
  Object.keys(files)
    .filter((path) => path.startsWith("database/migrations/"))
    .map((path) => path.replace(/^.*\d{6}_/, ""))
    .toSorted();

/** The printed steps that the command leaves to the author. */
const remaining = (output: string): string => output.split("Add the following by hand:\n\n")[1] ?? "";

/** The application, booted in this process; it is shut down when the test has finished. */
async function load(root: string): Promise<Application> {
  const { default: application } = (await import(join(root, "app.ts"))) as { default: Application };
  onTestFinished(() => application.shutdown());
  return application;
}

async function token(url: string): Promise<string> {
  const body = new URLSearchParams({ username: "ada@example.com", password: PASSWORD });
  const response = await fetch(new URL("/api/auth", url), { method: "POST", body });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: string }).data;
}

async function me(url: string): Promise<unknown> {
  const response = await fetch(new URL("/api/me", url), { headers: { authorization: `Bearer ${await token(url)}` } });
  return await response.json();
}

test("after auth and migrate, visitors register and log in; after api:install, they get tokens", async () => {
  const root = await oneFileApplication();
  const before = await snapshot(root);
  const { code, output } = await ashlar(root, "auth");
  expect(code).toBe(0);
  expect(output).toMatch(/\nRun the migrations: npx ashlar migrate$/);
  expect(output).toContain(
    "\n`node app.ts` no longer listens: app.ts exports the application, and npx ashlar serve starts it.\n",
  );
  expect(remaining(output)).toBe("");
  const made = await snapshot(root);
  expect(made["app.ts"]).toBe(`import { createApplication, Route } from "ashlar";
import { Kernel } from "./app/kernel.ts";

const application = await createApplication({ root: import.meta.dirname, kernel: Kernel, routes: [Route.get("/", () => "hello")] });
export default application;`);
  expect(made["package.json"]).toBe(
    before["package.json"]!.replace(/"test": .*/, '"test": "node --test tests/*.test.ts"'),
  );
  expect(made["routes/web.ts"]).not.toContain("welcome");
  expect(migrationsOf(made)).toEqual([
    "create_email_changes.ts",
    "create_logins.ts",
    "create_mail_outbox.ts",
    "create_maintenance.ts",
    "create_password_resets.ts",
    "create_rate_limits.ts",
    "create_security_events.ts",
    "create_users.ts",
  ]);

  expect((await ashlar(root, "migrate")).output).toMatch(/^Migrated \S+_create_users$/m);
  expect((await ashlar(root, "auth")).output).toBe("Everything is already in place; nothing was changed.");
  expect(await snapshot(root)).toEqual(made);

  execFileSync("git", ["init", "--quiet"], { cwd: root });
  const added = execFileSync("git", ["add", "--all", "--dry-run", "."], { cwd: root, encoding: "utf8" });
  expect(added).toContain("add '.env.example'");
  expect(added).not.toMatch(/'\.env'|sqlite/);

  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const [program, ...args] = scripts.test.split(" ") as [string, ...string[]];
  expect(program).toBe("node");
  expect((await execute(root, process.execPath, args)).output).toContain("ℹ pass 7\nℹ fail 0");

  const { url } = await serve(root);
  expect((await new PageVisitor(url).open("/")).html).toBe("hello");
  await new PageVisitor(url).register();
  const visitor = new PageVisitor(url);
  const page = await visitor.logIn(await visitor.open("/login"), "ada@example.com", PASSWORD);
  expect([page.path, page.status, page.html]).toEqual(["/home", 200, expect.stringContaining("Hello, Ada")]);

  const installed = await ashlar(root, "api:install");
  expect([installed.code, remaining(installed.output)]).toEqual([0, ""]);
  expect((await ashlar(root, "migrate")).output).toMatch(/^Migrated \S+_add_api_token_to_users$/);
  const api = await serve(root);
  expect(await me(api.url)).toMatchObject({ email: "ada@example.com" });
});

test("after api:install --migrate, a user gets a token; after auth, nothing is left to do", async () => {
  const root = await oneFileApplication();
  const { code, output } = await ashlar(root, "api:install", "--migrate");
  expect([code, remaining(output)]).toEqual([0, ""]);
  expect(migrationsOf(await snapshot(root))).toEqual(["create_rate_limits.ts", "create_users.ts"]);
  expect(output).toMatch(/^Migrated \S+_create_users$/m);
  expect((await ashlar(root, "api:install")).output).toBe("Everything is already in place; nothing was changed.");

  const application = await load(root);
  const { User } = await import(join(root, "app/models/user.ts"));
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  await user.setPassword(PASSWORD);
  await user.save();
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  expect(await (await fetch(url)).text()).toBe("hello");
  expect(await me(url)).toMatchObject({ email: "ada@example.com" });

  const added = await ashlar(root, "auth");
  expect([added.code, remaining(added.output)]).toEqual([0, ""]);
  expect((await ashlar(root, "migrate")).output).toMatch(/^Migrated \S+_add_verified_at_to_users$/m);
});

test("migrate prints the configuration it needs, which is sufficient", async () => {
  const root = await oneFileApplication();
  const { code, errors } = await ashlar(root, "migrate");
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^config\/database\.ts: does not exist.*npx ashlar auth or/),
  ]);
  const [line = ""] = /import .* export const DATABASES = .*$/.exec(errors) ?? [];
  await mkdir(join(root, "config"));
  await writeFile(join(root, "config/database.ts"), line);
  expect(await ashlar(root, "migrate")).toEqual({ code: 0, output: "Nothing to migrate.", errors: "" });
});

test("--dry-run shows everything that would be created, and creates nothing", async () => {
  const root = await oneFileApplication();
  const before = await snapshot(root);
  const { output } = await ashlar(root, "auth", "--dry-run");
  for (const path of [".gitignore", ".env.example", "config/database.ts", "routes/web.ts"]) {
    expect(output).toContain(`\n+++ b/${path}\n`);
  }
  expect(output).toMatch(/^\+\+\+ b\/database\/migrations\/\S+_create_users\.ts$/m);
  expect(output).toContain("\n-await application.listen({ port: 3000 });\n");
  expect(output).toContain("\n+export default application;\n");
  expect(await snapshot(root)).toEqual(before);
});

describe("existing files", () => {
  test.each([
    ["a migration that creates it", "database/migrations/2026_01_01_000000_people.ts", "db.createTable('users')"],
    [
      "SQL in a migration",
      "database/migrations/2026_01_01_000000_people.ts",
      "sql`create table if not exists users (`",
    ],
    ["a model of the author", "app/models/user.ts", "export class User {}"],
    ["a model with another name", "app/models/account.ts", 'static table = "users";'],
  ])("a table of users is not created again: %s", async (_, path, text) => {
    const root = await oneFileApplication({ [path]: text });
    await ashlar(root, "api:install");
    const files = await snapshot(root);
    expect(migrationsOf(files)).not.toContain("create_users.ts");
    expect(migrationsOf(files)).toContain("add_api_token_to_users.ts");
    expect(files[path]).toBe(text);
  });

  test("a user table that is only mentioned is created", async () => {
    const text = "// For the users.\nexport const up = () => {};\n";
    const root = await oneFileApplication({ "database/migrations/2026_01_01_000000_begin.ts": text });
    await ashlar(root, "api:install");
    expect(migrationsOf(await snapshot(root))).toContain("create_users.ts");
  });

  test("configuration in JavaScript remains the only one", async () => {
    const database = "export const DATABASES = { default: 'main', main: { driver: 'sqlite', path: 'my.db' } };\n";
    const providers = "export const PROVIDERS = [];\n";
    const root = await oneFileApplication({ "config/database.js": database, "config/providers.js": providers });
    const { output } = await ashlar(root, "api:install");
    const files = await snapshot(root);
    expect(remaining(output)).toBe("");
    expect(files["config/database.js"]).toBe(database);
    expect(Object.keys(files)).not.toContain("config/database.ts");
    expect(Object.keys(files)).not.toContain("config/providers.ts");
    expect(files["config/providers.js"]).toMatch(
      /^export const PROVIDERS = \[DatabaseProvider, ThrottleProvider, AuthProvider, ApiProvider\];$/m,
    );
    expect((await ashlar(root, "migrate")).output).toContain("_create_users");
  });

  test("without a root, startup in production and the doctor say that no .env is read, and it starts with one", async () => {
    const root = await oneFileApplication({
      "app.ts": 'import { createApplication } from "ashlar";\nexport default await createApplication();\n',
    });
    await ashlar(root, "key:generate");
    const boot = () => execute(root, process.execPath, ["app.ts"], { APP_ENV: "production" });
    const told = "Without a root, no .env is read: add root: import.meta.dirname to createApplication().";
    const { output } = await boot();
    expect(output).toContain(`${told} Set it to the public address, like APP_URL=https://shop.example`);
    const report = await doctor(root, "--production");
    const missing = report.findings.find(({ id }) => id === "url.missing")!;
    expect(missing.remedy.note).toBe(
      "Write your site's address. Without a root, the application reads no .env: add root: import.meta.dirname to " +
        "createApplication() in app.ts.",
    );
    await mend(root, missing);
    expect((await boot()).output).toContain(`${told} Set it`);
    await edit(root, "app.ts", ["createApplication()", "createApplication({ root: import.meta.dirname })"]);
    expect(await boot()).toEqual({ code: 0, output: "" });
  });

  test("the author's .env gets its secret, and other missing variables", async () => {
    const root = await oneFileApplication({ ".env": "SHOP=1\n" });
    await ashlar(root, "auth");
    const files = await snapshot(root);
    expect(files[".env"]).toMatch(/^SHOP=1\n\n# Mail .*\nMAIL_FROM=\nSMTP_HOST=\n[\s\S]*\nAPP_KEY=[\w-]{86}\n$/);
    expect(Object.keys(files)).not.toContain(".env.example");
  });

  test("no steps are printed for an app.ts that already has the required lines, in any form", async () => {
    const root = await oneFileApplication({
      "app.ts": `import { createApplication } from "ashlar";
        import { Kernel } from "./app/kernel.ts";
        const root = import.meta.dirname, kernel = Kernel;
        const shop = await createApplication({ root, kernel });
        export { shop as default };`,
    });
    expect(remaining((await ashlar(root, "api:install")).output)).toBe("");
  });

  test("an app.ts with providers and another name for its application keeps the providers, and says what to do", async () => {
    const root = await oneFileApplication({
      "app.ts": `import { createApplication } from "ashlar";
        const shop = await createApplication({ root: import.meta.dirname, providers: [] });`,
    });
    expect(remaining((await ashlar(root, "api:install")).output)).toBe(`app.ts
  // remove providers from createApplication({ … }), so that PROVIDERS of config/providers.ts is used`);
    expect((await snapshot(root))["app.ts"]).toBe(`import { createApplication } from "ashlar";
import { Kernel } from "./app/kernel.ts";
        const shop = await createApplication({ kernel: Kernel, root: import.meta.dirname, providers: [] });

export default shop;`);
  });

  test("a kernel without a binding for the routes file gets one, and the author's own stays", async () => {
    const kernel = 'import { HttpKernel } from "ashlar";\nexport class Kernel extends HttpKernel {}\n';
    const root = await oneFileApplication({ "app/kernel.ts": kernel });
    expect(remaining((await ashlar(root, "api:install")).output)).toBe("");
    const bindings = `  override registerRoutes(): void {
    this.container.bind("routes.api.location", "routes/api");
    this.container.bind("routes.api.prefix", "/api");
    this.container.bind("routes.location", "routes/web");
  }
`;
    expect((await snapshot(root))["app/kernel.ts"]).toContain(bindings);
    await edit(root, "app/kernel.ts", ['"routes/web"', '"mine"']);
    expect((await ashlar(root, "api:install")).output).toBe("Everything is already in place; nothing was changed.");
  });
});

describe(".gitignore keeps secrets out of the repository", () => {
  test.each([
    ["node_modules", "node_modules\n.env\n.env.*\n!.env.example\ndatabase/*.sqlite\ndatabase/*.sqlite-*\n"],
    [
      "node_modules\r\n",
      "node_modules\r\n.env\r\n.env.*\r\n!.env.example\r\ndatabase/*.sqlite\r\ndatabase/*.sqlite-*\r\n",
    ],
    ["", ".env\n.env.*\n!.env.example\ndatabase/*.sqlite\ndatabase/*.sqlite-*\n"],
    [".env.example\n# .env\n", ".env.example\n# .env\n.env\n.env.*\ndatabase/*.sqlite\ndatabase/*.sqlite-*\n"],
    [".env*\n/database/*.sqlite\n", ".env*\n/database/*.sqlite\ndatabase/*.sqlite-*\n"],
  ])("%j gets its missing lines", async (before, after) => {
    const root = await oneFileApplication({ ".gitignore": before });
    expect((await ashlar(root, "api:install")).output).toContain("Changed .gitignore\n");
    expect((await snapshot(root))[".gitignore"]).toBe(after);
    expect((await ashlar(root, "api:install")).output).not.toContain(".gitignore");
  });

  test.each([".env", "/.env", "**/.env", "*.env", ".*", "*"])(
    "%s is sufficient, and the author's own database is not added",
    async (line) => {
      const config = "export const DATABASES = { default: 'main', main: { driver: 'sqlite', path: 'my.db' } };\n";
      const root = await oneFileApplication({ ".gitignore": `dist\n${line}\n`, "config/database.ts": config });
      expect((await ashlar(root, "api:install")).output).not.toContain(".gitignore");
      expect(await snapshot(root)).toMatchObject({ ".gitignore": `dist\n${line}\n`, "config/database.ts": config });
    },
  );
});
