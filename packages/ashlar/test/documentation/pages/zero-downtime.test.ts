import { readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database, sql } from "../../../src/database/index.ts";
import { ashlar } from "../../support/command-line.ts";
import { setVariables } from "../../support/doctor.ts";
import { generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { onPostgres, postgres, type TestDatabase } from "../../support/services.ts";

const PAGE = "docs/guides/zero-downtime.md";
const MIGRATIONS = "database/migrations";

await onPostgres("the guide to deployments without downtime", () => {
  let own: TestDatabase;
  let root: string;
  let database: Database;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    own = await postgres.open();
    ({ root, remove } = await generateApplication({ pages: false, api: false, database: "postgres" }));
    const { user, password = "", host, port, database: name } = own.configuration as unknown as Record<string, string>;
    await setVariables(
      root,
      "APP_ENV=development",
      `DATABASE_URL=postgres://${user}:${password}@${host}:${port}/${name}`,
    );
    database = new Database({ default: "main", main: own.configuration }, root);
  });
  afterAll(async () => {
    await database.close();
    await remove();
    await own.drop();
  });

  const run = (text: string) => sql.raw(text).execute(database.kysely);

  test("each step runs on a table in use, only dropping the column causes a warning, and all names are kept", async () => {
    await followPage(root, PAGE);
    // They are deployed one after the other.
    const names = (await readdir(join(root, MIGRATIONS))).filter((name) => /customer|_name_/.test(name)).sort();
    expect(names.length).toBe(6);
    for (const name of names) await rename(join(root, MIGRATIONS, name), join(root, name));
    const steps: [string, string | undefined][] = [];
    for (const name of names) {
      await rename(join(root, name), join(root, MIGRATIONS, name));
      const { output } = await ashlar(root, "migrate", "--dry-run");
      const warning = /warning \S+: (.*?): /.exec(output)?.[1];
      steps.push([name.slice(18, -3), warning]);
      expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
      if (name.includes("create_customers")) {
        await run("insert into customers (name) select 'customer ' || n from generate_series(1, 2500) n");
      }
      // Its migration is older than that of the renaming.
      if (name.includes("rename_")) await run("update customers set display_name = 'old' where id = 7");
    }
    expect(steps).toEqual([
      ["create_customers", undefined],
      ["index_name_on_customers", undefined],
      ["rename_name_to_display_name_in_customers", undefined],
      ["copy_customer_names", undefined],
      ["let_customers_have_no_name", undefined],
      ["remove_name_from_customers", 'alter table "customers" drop column "name"'],
    ]);
    const { rows } = await run("select count(*)::int as n from customers where display_name = 'customer ' || id");
    expect(rows).toEqual([{ n: 2500 }]);

    const page = await readFile(join(import.meta.dirname, "../../../../..", PAGE), "utf8");
    for (const [, statements] of page.matchAll(/^```sql\n([\s\S]*?)^```/gm)) {
      await database.connection().transaction(() => run(statements!));
    }
    const required =
      "select is_nullable from information_schema.columns where table_name = 'customers' and column_name = 'display_name'";
    expect((await run(required)).rows).toEqual([{ is_nullable: "NO" }]);
  });
});
