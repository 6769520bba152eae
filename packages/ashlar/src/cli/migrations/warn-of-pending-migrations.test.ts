import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { type Application, createApplication, type ProviderClass } from "../../boot/index.ts";
import { DatabaseProvider, Migrations } from "../../database/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { warnOfPendingMigrations } from "./warn-of-pending-migrations.ts";

const A = "2026_01_01_000000_make_a";
const B = "2026_01_02_000000_make_b";

/** A migration that creates a table named like the migration's last letter. */
const making = (name: string): string =>
  `export const up = (database) => database.schema.createTable("${name.at(-1)}").addColumn("n", "integer").execute();`;

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly pending?: readonly string[];
}

/** An application with its own database, and its log. */
async function booted(
  files: Readonly<Record<string, string>>,
  providers: readonly ProviderClass[] = [DatabaseProvider],
): Promise<{ application: Application; lines: Line[] }> {
  const lines: Line[] = [];
  const logger = pino({ level: "debug" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const DATABASES = { default: "main", main: { driver: "sqlite", path: "app.sqlite" } };
  const application = await createApplication({
    root: folderWith(files),
    providers,
    config: { database: { DATABASES } },
    environment: { APP_ENV: "test" },
    logger: logger as unknown as Logger,
  });
  onTestFinished(() => application.shutdown());
  return { application, lines };
}

const migrations = ({ container, root }: Application): Migrations =>
  new Migrations(container.make("database"), join(root, "database/migrations"));

test("one warning names the pending migrations and the command; nothing is written to the database", async () => {
  const { application, lines } = await booted({
    [`database/migrations/${B}.ts`]: making(B),
    [`database/migrations/${A}.ts`]: making(A),
  });
  await warnOfPendingMigrations(application);
  expect(lines).toEqual([expect.objectContaining({ level: 40, pending: [A, B] })]);
  expect(lines[0]!.msg).toBe("Migrations have not been run on this database. Run: npx ashlar migrate");
  expect(await application.container.make("database").kysely.introspection.getTables()).toEqual([]);
});

test("the warning does not name migrations that have run, and is omitted if all have", async () => {
  const { application, lines } = await booted({ [`database/migrations/${A}.ts`]: making(A) });
  await migrations(application).up();
  await warnOfPendingMigrations(application);
  expect(lines).toEqual([]);
  await writeFile(join(application.root, `database/migrations/${B}.ts`), making(B));
  await warnOfPendingMigrations(application);
  expect(lines.map(({ pending }) => pending)).toEqual([[B]]);
  // The next `migrate` will report the missing file.
  for (const name of [A, B]) await rm(join(application.root, `database/migrations/${name}.ts`));
  await warnOfPendingMigrations(application);
  expect(lines).toHaveLength(1);
});

test("nothing is logged without migrations or a database", async () => {
  const none = await booted({});
  const noDatabase = await booted({ [`database/migrations/${A}.ts`]: making(A) }, []);
  for (const { application, lines } of [none, noDatabase]) {
    await warnOfPendingMigrations(application);
    expect(lines).toEqual([]);
  }
});

test("a database that cannot be queried or a misnamed file is only logged", async () => {
  const closed = await booted({ [`database/migrations/${A}.ts`]: making(A) });
  await closed.application.container.make("database").close();
  const misnamed = await booted({ "database/migrations/first.ts": making(A) });
  for (const { application, lines } of [closed, misnamed]) {
    await expect(warnOfPendingMigrations(application)).resolves.toBeUndefined();
    expect(lines).toEqual([
      expect.objectContaining({
        level: 20,
        msg: "Could not check for pending migrations.",
        err: expect.objectContaining({ code: expect.stringMatching(/^E_/) }),
      }),
    ]);
  }
});
