import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { createProject } from "../../src/scaffold/index.ts";
import { ashlar } from "../support/command-line.ts";
import { copyOf } from "../support/doctor.ts";
import {
  COMMAND,
  checkTypes,
  edit,
  execute,
  freePort,
  generatedApplication,
  passesItsOwnChecks,
  serve,
} from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Adds a user through the application's own code. */
async function addUser(root: string): Promise<void> {
  const script = `
    const { default: application } = await import("./app.ts");
    const { User } = await import("./app/models/user.ts");
    const user = new User().fill({ name: "Ada", email: "ada@example.com" });
    await user.setPassword("a password of hers");
    await user.save();
    await application.shutdown();`;
  const { code, output } = await execute(root, process.execPath, ["--input-type=module", "--eval", script]);
  expect(output).toBe("");
  expect(code).toBe(0);
}

async function authenticate(url: string): Promise<string> {
  const body = new URLSearchParams({ username: "ada@example.com", password: "a password of hers" });
  const response = await fetch(`${url}api/auth`, { method: "POST", body });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: string }).data;
}

describe("a new application", () => {
  test.for([
    { pages: true, api: true, database: "sqlite" },
    { pages: true, api: false, database: "sqlite" },
    { pages: false, api: true, database: "sqlite" },
    { pages: false, api: false, database: "sqlite" },
    { pages: true, api: true, database: "postgres" },
    { pages: true, api: true, database: "mariadb" },
  ] as const)("passes its own type check and tests unchanged: %j", async (options) => {
    await passesItsOwnChecks(await generatedApplication(options), options);
  });

  test("has its own secrets, which only its owner can read", async () => {
    const root = await generatedApplication();
    const other = await generatedApplication();
    const [secrets, others] = await Promise.all(
      [root, other].map(async (folder) => parseEnv(await readFile(join(folder, ".env"), "utf8"))),
    );
    for (const name of ["APP_KEY", "JWT_SECRET"]) {
      expect(Buffer.from(secrets![name]!, "base64url")).toHaveLength(64);
      expect(secrets![name]).not.toBe(others![name]);
    }
    expect((await stat(join(root, ".env"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(root, ".env.example"), "utf8")).toMatch(/^APP_KEY=$/m);
  });

  test("leaves secrets, packages, logs and the database out of its repository", async () => {
    const folder = await temporaryFolder();
    await createProject({ folder, pages: true, api: true, database: "sqlite" });
    await execute(folder, "git", ["init"]);
    const variables = [".env", ".env.x7.tmp", ".env.production", "shop.env"];
    const data = ["users.jsonl", "database/app.sqlite", "database/app.sqlite-wal"];
    const ignored = [...variables, ...data, "node_modules/ashlar/package.json", "server.log", "logs/day.log"];
    const asked = [...ignored, ".env.example", ".gitignore", "package.json", "config/app.ts"];
    const { output } = await execute(folder, "git", ["check-ignore", ...asked]);
    expect(output.trimEnd().split("\n")).toEqual(ignored);
  });

  test("is not created in a folder that is not empty", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "mine.txt"), "mine");
    await expect(createProject({ folder, pages: true, api: true, database: "sqlite" })).rejects.toMatchObject({
      code: "E_COMMAND",
    });
    expect(await readdir(folder)).toEqual(["mine.txt"]);
  });

  test("request.user() has the type of its own User", async () => {
    const root = await generatedApplication();
    await writeFile(
      join(root, "routes/types.ts"),
      `import { Route } from "ashlar";
       import { User } from "../app/models/user.ts";
       export const ROUTES = [
         Route.get("/a", ({ request }) => {
           const user = request.user();
           const same: User | null = user;
           // @ts-expect-error a user can be absent
           user.email;
           // @ts-expect-error there is no such column
           user?.nonsense;
           return same?.email.toUpperCase();
         }),
         Route.get("/b", async ({ auth }) => ((await auth.user()) satisfies User | null)?.id),
       ];`,
    );
    await checkTypes(root);
  });

  test("auth.guard() has the guard's registered user type, or its own User", async () => {
    const root = await generatedApplication();
    await writeFile(
      join(root, "routes/types.ts"),
      `import { Route } from "ashlar";
       import { Authenticates } from "ashlar/auth";
       import { compose, Model } from "ashlar/database";
       import { User } from "../app/models/user.ts";
       class Employee extends compose(Model, Authenticates) {
         declare desk: string;
       }
       declare module "ashlar" {
         interface Register {
           guards: { staff: Employee };
         }
       }
       export const ROUTES = [
         Route.post("/a", async ({ auth }) => {
           const staff = auth.guard("staff");
           await staff.loginAs(new Employee());
           staff.once(new Employee());
           // @ts-expect-error a customer is not an employee
           staff.once(new User());
           (await staff.attempt("ada", "secret")) satisfies Employee | null;
           return (await staff.user())?.desk.toUpperCase();
         }),
         Route.post("/b", async ({ auth }) => {
           await auth.guard("web").loginAs(new User());
           (await auth.guard(auth.guardName).user()) satisfies User | null;
           (await auth.user()) satisfies User | null;
           // @ts-expect-error an employee is not a customer
           await auth.guard("web").loginAs(new Employee());
         }),
       ];`,
    );
    await checkTypes(root);
  });

  test("returns a token for credentials, and the user for the token, without password and token", async () => {
    const root = await generatedApplication();
    expect((await ashlar(root, "migrate")).output).toContain("create_users");
    await addUser(root);
    const { url, child } = await serve(root);

    expect((await fetch(`${url}api/me`)).status).toBe(401);
    const token = await authenticate(url);
    const response = await fetch(`${url}api/me`, { headers: { Authorization: `Bearer ${token}` } });
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await response.json()).toEqual({
      id: 1,
      name: "Ada",
      email: "ada@example.com",
      verified_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });

    const exit = new Promise((resolve) => child.on("close", resolve));
    child.kill("SIGTERM");
    expect(await exit).toBe(0);
  });

  test("prefers a real environment variable to .env", async () => {
    const root = await generatedApplication();
    const { line } = await serve(root, { APP_NAME: "Another name" });
    expect(line).toMatch(/^Another name is listening on http:\/\/localhost:\d+\/$/);
    await expect(serve(root, { JWT_SECRET: "weak" })).rejects.toThrow(
      /The application ended:[\s\S]+npx ashlar key:generate/,
    );
  });
});

describe("the migrate commands", () => {
  const MIGRATED = /Migrated \S+_create_users\nMigrated \S+_create_rate_limits\nMigrated \S+_create_orders/;

  test("can be run, listed, rolled back and run again", async () => {
    const root = await generatedApplication({ pages: false });
    await ashlar(root, "make:migration", "create_orders");
    expect((await ashlar(root, "migrate:status")).output.match(/pending/g)).toHaveLength(3);
    expect((await ashlar(root, "migrate")).output).toMatch(MIGRATED);
    expect((await ashlar(root, "migrate")).output).toBe("Nothing to migrate.");
    expect((await ashlar(root, "migrate:rollback", "--steps", "1")).output).toMatch(/^Rolled back \S+_create_orders$/);
    expect((await ashlar(root, "migrate:status")).output).toMatch(
      /_create_users +run +1 +\S+\n\S+_create_rate_limits +run +1 +\S+\n\S+_create_orders +pending/,
    );
    expect((await ashlar(root, "migrate:fresh")).output).toMatch(MIGRATED);
    expect((await ashlar(root, "migrate:rollback")).output).toMatch(
      /_create_orders\n.*_create_rate_limits\n.*_create_users/,
    );
  });

  test("a failing migration makes the command fail with the file's name, and leaves nothing half done", async () => {
    const root = await generatedApplication();
    await writeFile(
      join(root, "database/migrations/2999_01_01_000000_broken.ts"),
      `export async function up(database) {
         await database.schema.createTable("half").addColumn("id", "integer").execute();
         await database.schema.alterTable("nowhere").addColumn("x", "integer").execute();
       }`,
    );
    const { code, errors } = await ashlar(root, "migrate");
    expect(code).toBe(1);
    expect(errors).toContain("2999_01_01_000000_broken.ts");
    expect((await ashlar(root, "migrate:status")).output).toMatch(/_create_users +run[\s\S]+_broken +pending/);
  });

  test("serve works in production, with one log warning that names the pending migrations", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    const production = { APP_ENV: "production", APP_URL: "http://shop.example" };
    const server = startProcess(root, process.execPath, [COMMAND, "serve", "--port", "0"], production);
    await server.printed(/ is listening on http/);
    const [line] = await server.printed(/^.*npx ashlar migrate.*$/m);
    expect(JSON.parse(line)).toMatchObject({
      level: "warn",
      pending: [expect.stringMatching(/_create_users$/), expect.stringMatching(/_create_rate_limits$/)],
    });
    server.signalGroup("SIGTERM");
    await server.ended;
    expect(server.output().split("npx ashlar migrate")).toHaveLength(2);
    expect(server.output().split(" is listening on ")).toHaveLength(2);
  });

  test("migrate:fresh does nothing in production unless forced", async () => {
    const root = await generatedApplication();
    await edit(root, ".env", ["APP_URL=", "APP_ENV=production\nAPP_URL="]);
    const { code, errors } = await ashlar(root, "migrate:fresh");
    expect(code).toBe(1);
    expect(errors).toContain("--force");
    expect((await ashlar(root, "migrate:fresh", "--force")).code).toBe(0);
  });
});

describe("routes", () => {
  test("lists method, path, name, stack and handler", async () => {
    const root = await generatedApplication();
    const { code, output } = await execute(root, process.execPath, [COMMAND, "routes"]);
    expect(code).toBe(0);
    const lines = output
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    expect(lines[0]).toEqual(["Method", "Path", "Name", "Stack", "Handler"]);
    expect(lines).toContainEqual(["GET", "/", "welcome", "web", "view welcome"]);
    expect(lines).toContainEqual(["GET", "/api/me", "api.me", "api, auth:jwt", "function"]);
  });

  test("lists the health routes, unless they are off or the application has a route at their path", async () => {
    const root = await generatedApplication();
    const health = async (folder: string) => {
      const { output } = await ashlar(folder, "routes");
      const lines = output.split("\n").map((line) => line.split(/ {2,}/));
      return lines.filter(([, path = ""]) => ["/up", "/ready", "/alive"].includes(path));
    };
    expect(await health(root)).toEqual([
      ["GET", "/up", "health up"],
      ["GET", "/ready", "health ready"],
    ]);
    const copy = await copyOf(root);
    await edit(copy, "config/app.ts", [
      "} satisfies",
      '  server: { health: { up: "/alive", ready: false } },\n} satisfies',
    ]);
    expect(await health(copy)).toEqual([["GET", "/alive", "health up"]]);
    const own = await copyOf(root);
    await edit(own, "routes/web.ts", ["RouteEntry[] = [", 'RouteEntry[] = [\n  Route.get("/up", () => "mine"),']);
    expect(await health(own)).toEqual([
      ["GET", "/up", "web", "function"],
      ["GET", "/ready", "health ready"],
    ]);
  });

  test("shows the limits of the token endpoints, which their handlers count themselves", async () => {
    const root = await generatedApplication();
    const endpoints = async () => {
      const { output } = await ashlar(root, "routes");
      const lines = output.split("\n").map((line) => line.split(/ {2,}/));
      return lines.filter(([, path = ""]) => /^\/api\/(?:auth|reauth|logout)$/.test(path));
    };
    expect(await endpoints()).toEqual([
      ["POST", "/api/auth", "api.auth", "throttle:login (by the handler)", "TokenController.issue"],
      ["POST", "/api/reauth", "api.reauth", "throttle:api.reauth (by the handler)", "TokenController.renew"],
      ["POST", "/api/logout", "api.logout", "throttle:api.reauth (by the handler)", "TokenController.revoke"],
    ]);
    const { output } = await ashlar(root, "routes", "--json");
    const rows = JSON.parse(output) as {
      readonly name: string;
      readonly stack: string;
      readonly limit: string | null;
    }[];
    const limits = rows.filter(({ limit }) => limit !== null).map(({ name, stack, limit }) => [name, stack, limit]);
    expect(limits).toEqual([
      ["api.auth", "", "login"],
      ["api.reauth", "", "api.reauth"],
      ["api.logout", "", "api.reauth"],
    ]);
  });

  test("shows no limit of a token endpoint in an application without limits", async () => {
    const root = await generatedApplication({ pages: false });
    await edit(root, "config/providers.ts", ["  ThrottleProvider,\n", ""]);
    expect((await ashlar(root, "routes")).output).not.toContain("throttle:");
  });

  test("outside an application, the error says where to run the command", async () => {
    const root = await temporaryFolder();
    expect(await ashlar(root, "routes")).toEqual({
      code: 1,
      output: "",
      errors: `There is no app.ts in ${root}. Run the command in the application's folder.`,
    });
  });
});

describe("lang:keys", () => {
  test("prints a sentence ready for lang/en.ts, and changing it there changes the page", async () => {
    const root = await generatedApplication();
    const { code, output } = await ashlar(root, "lang:keys", "pages.welcome.lead");
    const sentence = "The application is running. This page is {view}, and its route is in {routes}.";
    expect([code, output]).toEqual([0, `"pages.welcome.lead": "${sentence}",`]);
    await mkdir(join(root, "lang"));
    const own = output.replace("The application is running.", "We are open.");
    await writeFile(join(root, "lang/en.ts"), `export const MESSAGES = {\n  ${own}\n};\n`);
    const page = await (await fetch((await serve(root)).url)).text();
    expect(page).toContain("We are open. This page is views/welcome.edge, and its route is in routes/web.ts.");
  });

  test("lists all sentences by key, including plural forms", async () => {
    const root = await generatedApplication();
    const orders = { one: "{count} order", other: "{count} orders" };
    await mkdir(join(root, "lang"));
    await writeFile(join(root, "lang/en.ts"), `export const MESSAGES = ${JSON.stringify({ "app.orders": orders })};\n`);
    const { output } = await ashlar(root, "lang:keys");
    const listed = JSON.parse(`{${output.replace(/,$/, "")}}`) as Record<string, unknown>;
    expect(Object.keys(listed)).toEqual(Object.keys(listed).toSorted());
    expect(Object.keys(listed).length).toBeGreaterThan(100);
    expect(listed["app.orders"]).toEqual(orders);
  });

  test("fails if no key begins with the argument", async () => {
    const { code, errors } = await ashlar(await generatedApplication(), "lang:keys", "pages.wellcome");
    expect([code, errors]).toEqual([1, 'No key begins with "pages.wellcome". Run: npx ashlar lang:keys']);
  });
});

test("prune deletes expired rows, and reports how many", async () => {
  const root = await generatedApplication();
  await ashlar(root, "migrate");
  const script = `
    const { default: application } = await import("./app.ts");
    const { kysely } = application.container.make("database");
    const past = new Date(Date.now() - 1000);
    const future = new Date(Date.now() + 60_000);
    for (const name of ["old", "new", "everlasting"]) {
      const times = { created_at: past, updated_at: past };
      await kysely.insertInto("users").values({ name, email: name + "@example.com", password: "-", ...times }).execute();
    }
    const row = (name, expires_at) => ({ guard: "web", email: name + "@example.com", token: name, created_at: past, expires_at });
    const rows = [row("old", past), row("new", future), row("everlasting", null)];
    await kysely.insertInto("password_resets").values(rows).execute();
    await application.shutdown();`;
  expect(await execute(root, process.execPath, ["--input-type=module", "--eval", script])).toEqual({
    code: 0,
    output: "",
  });
  const first = await execute(root, process.execPath, [COMMAND, "prune"]);
  expect(first.code).toBe(0);
  expect(first.output).toMatch(/^password resets: 1 deleted$/m);
  const second = await execute(root, process.execPath, [COMMAND, "prune"]);
  expect(second.output).toMatch(/^password resets: 0 deleted$/m);
});

describe("the API setup steps, done by hand on an application created without the API", () => {
  test("work as documented", async () => {
    const root = await generatedApplication({ api: false, pages: false });
    await ashlar(root, "migrate");

    // 1. ApiProvider in PROVIDERS
    await edit(
      root,
      "config/providers.ts",
      ["import { AuthProvider }", 'import { ApiProvider } from "ashlar/api";\nimport { AuthProvider }'],
      ["  AuthProvider,\n", "  AuthProvider,\n  ApiProvider,\n"],
    );
    // 2. routes/api with a ROUTES list
    await mkdir(join(root, "routes"), { recursive: true });
    await writeFile(
      join(root, "routes/api.ts"),
      `import { Route } from "ashlar";
       export const ROUTES = [Route.get("/me", ({ request }) => request.user()).middleware("guard:jwt")];`,
    );
    // 3. the container key in registerRoutes, 8. the stack in routeMiddleware
    await edit(
      root,
      "app/kernel.ts",
      [
        'this.container.bind("routes.location", "routes/web");',
        'this.container.bind("routes.location", "routes/web");\n    this.container.bind("routes.api.location", "routes/api");',
      ],
      [
        "import { AuthenticationMiddleware",
        'import { JWTAuthenticationMiddleware } from "ashlar/api";\nimport { AuthenticationMiddleware',
      ],
      ["    web: [],\n", "    web: [],\n    api: [JWTAuthenticationMiddleware],\n"],
    );
    // 4. the model inherits AuthenticatesTokens
    await edit(
      root,
      "app/models/user.ts",
      ["import { Authenticates }", 'import { AuthenticatesTokens } from "ashlar/api";\nimport { Authenticates }'],
      ["compose(Model, Authenticates)", "compose(Model, Authenticates, AuthenticatesTokens)"],
    );
    // 5. a nullable column, and the migration command
    await writeFile(
      join(root, "database/migrations/2999_01_01_000000_add_api_token_to_users.ts"),
      `import type { Kysely } from "ashlar/database";
       export async function up(database: Kysely<unknown>): Promise<void> {
         await database.schema.alterTable("users").addColumn("api_token", "varchar(255)").execute();
       }`,
    );
    expect(await ashlar(root, "migrate")).toMatchObject({ code: 0, output: expect.stringContaining("add_api_token") });
    // 7. Api.routes() among the web routes
    await edit(
      root,
      "routes/web.ts",
      [
        'import { Route, type RouteEntry } from "ashlar";',
        'import { Route, type RouteEntry } from "ashlar";\nimport { Api } from "ashlar/api";',
      ],
      [
        "export const ROUTES: RouteEntry[] = [",
        'export const ROUTES: RouteEntry[] = [\n  ...Api.routes({ authRoute: "/api/auth", reauthRoute: "/api/reauth" }),',
      ],
    );
    // 6. api:install
    const installed = await ashlar(root, "api:install");
    expect(installed.output).toContain("Created config/api.ts");
    expect(installed.output).not.toContain("database/migrations");

    expect((await ashlar(root, "api:install")).output).toBe("Everything is already in place; nothing was changed.");
    await checkTypes(root);
    await addUser(root);
    const { url } = await serve(root);
    const token = await authenticate(url);
    // Without routes.api.prefix, the API's paths have no prefix.
    const me = await fetch(`${url}me`, { headers: { Authorization: `Bearer ${token}` } });
    expect(await me.json()).toMatchObject({ email: "ada@example.com" });
    expect((await fetch(`${url}me`)).status).toBe(401);
    const renewed = await fetch(`${url}api/reauth`, { method: "POST", body: new URLSearchParams({ token }) });
    expect(await renewed.json()).toEqual({ data: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) });
  });
});

test("serve --watch restarts when a file changes, and ends with the signal it receives", async () => {
  const root = await generatedApplication();
  const port = String(await freePort());
  const { url, child } = await serve(root, { PORT: port }, ["--watch"]);
  expect((await fetch(`${url}fresh`)).status).toBe(404);
  await edit(root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    'export const ROUTES: RouteEntry[] = [\n  Route.get("/fresh", () => "fresh"),',
  ]);
  await expect
    .poll(() =>
      fetch(`${url}fresh`).then(
        (response) => response.text(),
        () => null,
      ),
    )
    .toBe("fresh");

  const exit = new Promise((resolve) => child.on("close", resolve));
  child.kill("SIGTERM");
  await exit;
  await expect(fetch(url)).rejects.toThrow();
});
