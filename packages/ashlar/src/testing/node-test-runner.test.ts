import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtModule } from "../../test/support/built-module.ts";

/** An application's test as its author would write it, for Node's own test runner. */
const TEST = `
import assert from "node:assert/strict";
import { after, afterEach, beforeEach, test } from "node:test";
import { Authenticates, AuthenticationMiddleware, AuthProvider } from "ashlar/auth";
import { compose, DatabaseProvider, Model } from "ashlar/database";
import { EventProvider } from "ashlar/events";
import { HttpKernel, Route } from "ashlar";
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from "ashlar/session";
import {
  captureEvents, createTestApplication, createTestClient, factory, resetDatabase, travel, travelBack,
} from "ashlar/testing";

class User extends compose(Model, Authenticates) {
  declare id: number;
  declare email: string;
}

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [SessionMiddleware, VerifyCsrfToken], auth: [AuthenticationMiddleware] };
}

const application = await createTestApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  providers: [DatabaseProvider, EventProvider, SessionProvider, AuthProvider],
  routes: [
    Route.get("/login", ({ csrfField }) => \`<form method="post">\${csrfField}<input name="email"><input name="password"></form>\`)
      .name("login"),
    Route.post("/login", async ({ auth, request, response }) => {
      const user = await auth.attempt(request.input("email"), request.input("password"));
      return response.redirect(user === null ? "/login" : "/home");
    }),
    Route.get("/home", ({ request }) => "Hello, " + (request.user() as User).email).middleware("auth"),
  ],
  config: { auth: { GUARDS: { default: "web", web: { model: User } } } },
});
const users = factory(User, (n) => ({ email: \`user\${n}@example.com\`, password: "a good password" }));

after(() => application.shutdown());
beforeEach(() => resetDatabase(application));
afterEach(travelBack);

test("a login by the form", async () => {
  using events = captureEvents(application);
  const user = await users.create();
  const client = createTestClient(application);
  const answer = await client.submit(await client.get("/login"), { email: user.email, password: "a good password" });
  answer.assertRedirect("/home");
  (await client.follow(answer)).assertStatus(200).assertSee("Hello, " + user.email);
  await client.assertAuthenticatedAs(user);
  events.assertEmitted("auth.login", { guard: "web" });
});

test("a login ends", async () => {
  const client = createTestClient(application);
  await client.actingAs(await users.create());
  travel(121);
  (await client.get("/home")).assertRedirect("/login");
  assert.equal(await User.rows().count(), 1);
});

test("this one fails", async () => {
  (await createTestClient(application).get("/home")).assertStatus(200);
});
`;

const MIGRATION = `
import { primaryKey, reference, timestamp, timestamps } from "ashlar/database";
export async function up(database) {
  await database.schema.createTable("users").$call(primaryKey(database)).addColumn("email", "text")
    .addColumn("password", "text").$call(timestamps(database)).execute();
  await database.schema.createTable("logins").$call(primaryKey(database)).addColumn("user_id", reference(database))
    .addColumn("guard", "text").addColumn("token_hash", "text").addColumn("access_epoch", "text").addColumn("ip", "text").addColumn("user_agent", "text")
    .addColumn("authenticated_at", timestamp(database)).addColumn("last_used_at", timestamp(database))
    .addColumn("expires_at", timestamp(database)).addColumn("created_at", timestamp(database)).execute();
}
`;

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "ashlar-node-test-"));
  await mkdir(join(root, "database/migrations"), { recursive: true });
  const write = (file: string, text: string) =>
    writeFile(
      join(root, file),
      text.replaceAll(/"ashlar(?:\/(\w+))?"/g, (_, name = "index") => JSON.stringify(builtModule(name))),
    );
  await write("package.json", '{ "type": "module" }');
  await write("login.test.ts", TEST);
  await write("database/migrations/2026_01_01_000000_create_tables.ts", MIGRATION);
});

afterAll(() => rm(root, { recursive: true, force: true }));

test("the helpers work with node:test, whose report shows the actual response", async () => {
  // This runner's variables for its workers aren't meant for another runner.
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, VITEST: _vitest, NODE_ENV: _name, ...env } = process.env;
  const child = spawn(process.execPath, ["--test", "--test-reporter=tap", "login.test.ts"], { cwd: root, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(output).toContain("ok 1 - a login by the form");
  expect(output).toContain("ok 2 - a login ends");
  expect(output).toContain("not ok 3 - this one fails");
  expect(output).toContain("Expected the status 200 OK, but got 302 Found.");
  expect(output).toMatch(/# pass 2\n# fail 1/);
  expect(code).toBe(1);
});
