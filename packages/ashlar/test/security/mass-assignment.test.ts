import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { edit, generatedApplication, serve } from "../support/generated-application.ts";

const FILLABLE = '  static override fillable = ["name", "email"];\n';
const PASSWORD = "a password of hers";
const FORGED = "$argon2id$forged";

/** A generated application, served, whose controllers accept every input. */
async function naiveApplication(changes: readonly (readonly [string, string])[]) {
  const root = await generatedApplication();
  await edit(root, "app/models/user.ts", ...changes);
  await edit(
    root,
    "app/controllers/auth/register-controller.ts",
    [
      "const { name, email, password, password_confirmation } = request.all();",
      "const input = request.all() as never;",
    ],
    ["accounts.register({ name, email, password, password_confirmation },", "accounts.register(input,"],
  );
  await edit(
    root,
    "routes/api.ts",
    ["import { Route", 'import { User } from "../app/models/user.ts";\nimport { Route'],
    [
      "export const ROUTES: RouteEntry[] = [",
      `export const ROUTES: RouteEntry[] = [
  Route.post("/create", async ({ request }) => await User.create(request.all())).withoutMiddleware("api"),
  Route.post("/fill", async ({ request }) => {
    const user = new User().fill(request.all());
    await user.setPassword("${PASSWORD}");
    return await user.save();
  }).withoutMiddleware("api"),`,
    ],
  );
  expect((await ashlar(root, "migrate")).code).toBe(0);
  const { url } = await serve(root);
  const file = new DatabaseSync(join(root, "database/app.sqlite"));
  onTestFinished(() => file.close());
  const users = () => file.prepare("select * from users").all();
  const columns = file.prepare("select name from pragma_table_info('users')").all();
  return { url, users, columns: columns.map(({ name }) => String(name)) };
}

/** Sends a registration with its own inputs and others, with the page's CSRF token. */
async function register(url: string, sent: Readonly<Record<string, string>>): Promise<number> {
  const page = await fetch(new URL("/register", url));
  const cookie = page.headers.getSetCookie().map((text) => text.split(";")[0]!);
  const [, token = ""] = /name="__token" value="([^"]+)"/.exec(await page.text()) ?? [];
  const body = new URLSearchParams({ __token: token, ...sent });
  const init = { method: "POST", body, headers: { cookie: cookie.join("; ") }, redirect: "manual" } as const;
  return (await fetch(new URL("/register", url), init)).status;
}

test.for([
  ["unchanged", []],
  ["without fillable", [[FILLABLE, ""]]],
] as const)("S57 no mixin's column is set from a form: the user %s", async ([, changes]) => {
  const { url, users, columns } = await naiveApplication(changes);
  // Every column of the users table, including those that later mixins add.
  const owned = columns.filter((column) => !["name", "email", "created_at", "updated_at"].includes(column));
  expect(owned).toEqual(expect.arrayContaining(["id", "password", "api_token", "verified_at"]));
  const forged = Object.fromEntries(owned.map((column) => [column, column === "id" ? "4711" : FORGED]));
  const post = async (path: string, sent: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(new URL(path, url), { method: "POST", body: new URLSearchParams(sent) })).status;

  // Then the account has no password.
  expect(await post("/api/create", { name: "A", email: "a@example.com", ...forged })).toBe(200);
  expect(await post("/api/fill", { name: "B", email: "b@example.com", ...forged })).toBe(200);
  const chosen = { password: PASSWORD, password_confirmation: PASSWORD };
  expect(await register(url, { name: "C", email: "c@example.com", ...forged, ...chosen })).toBe(302);

  const stored = users();
  expect(stored.map(({ email }) => email)).toEqual(["a@example.com", "b@example.com", "c@example.com"]);
  expect(stored[0]!.password).toBeNull();
  for (const user of stored) {
    expect(user).toMatchObject({ api_token: null, verified_at: null });
    if (user !== stored[0]) expect(user.password).toMatch(/^\$argon2id\$v=19\$/);
    for (const column of owned) expect([column, user[column]]).not.toEqual([column, forged[column]]);
    expect(user.id).not.toBe(4711);
  }
});
