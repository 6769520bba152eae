import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { edit } from "./generated-application.ts";

const DOCUMENTED = join(import.meta.dirname, "../../src/auth/accounts/pages/auth-routes.ts");

/** The routes for a second guard from the doc comment of `Auth.routes`. */
async function documentedRoutes(): Promise<string> {
  const comment = await readFile(DOCUMENTED, "utf8");
  const [, code] = /```ts\n( \* class AdminHomeController[\s\S]*?) \* ```/.exec(comment) ?? [];
  if (code === undefined) throw new Error("The doc comment of Auth.routes shows no second guard.");
  return code.replaceAll(/^ \* ?/gm, "");
}

/**
 * Adds a second guard, `admin`, with its own users, to a generated application, as shown in the doc comment of
 * `Auth.routes`.
 *
 * @param changes to the doc comment's code
 */
export async function addAdmins(root: string, ...changes: readonly (readonly [string, string])[]): Promise<void> {
  const table = { name: "varchar(255)", email: "varchar(254)", password: "varchar(255)" };
  const columns = Object.entries(table).map(([name, type]) => {
    return `    .addColumn("${name}", "${type}", (column) => column.notNull()${name === "email" ? ".unique()" : ""})`;
  });
  await writeFile(
    join(root, "database/migrations/2030_01_01_000000_create_admins.ts"),
    `import { type Kysely, primaryKey, timestamp, timestamps } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("admins")
    .$call(primaryKey(database))
${columns.join("\n")}
    .addColumn("access_epoch", "varchar(43)")
    .addColumn("verified_at", timestamp(database))
    .$call(timestamps(database))
    .execute();
}
`,
  );
  await writeFile(
    join(root, "app/models/admin.ts"),
    `import { Authenticates, MustVerifyEmail } from "ashlar/auth";
import { compose, Model } from "ashlar/database";

export class Admin extends compose(Model, Authenticates, MustVerifyEmail) {
  static override table = "admins";
  static override hidden = ["password"];

  declare id: number;
  declare name: string;
  declare email: string;
}
`,
  );
  await edit(
    root,
    "config/auth.ts",
    [
      'import { User } from "../app/models/user.ts";',
      'import { Admin } from "../app/models/admin.ts";\nimport { User } from "../app/models/user.ts";',
    ],
    ["  web: { model: User },", '  web: { model: User },\n  admin: { driver: "web", model: Admin },'],
  );
  let routes = await documentedRoutes();
  for (const [from, to] of changes) {
    if (!routes.includes(from)) throw new Error(`The doc comment of Auth.routes has no ${from}`);
    routes = routes.replace(from, () => to);
  }
  await writeFile(
    join(root, "routes/web.ts"),
    `import { type HttpContext, Route } from "ashlar";
import { Api } from "ashlar/api";
import { Auth } from "ashlar/auth";
import { AuthControllers } from "../app/controllers/auth/index.ts";

${routes.replace("export const ROUTES = [", 'export const ROUTES = [\n  ...Api.routes(),\n  Route.view("/", "welcome").name("welcome"),')}`,
  );
}
