import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { sql } from "../../src/database/index.ts";
import { COMMAND } from "../support/generated-application.ts";
import { onPostgres, postgres } from "../support/services.ts";
import { shellEnvironment } from "../support/shell-environment.ts";
import { folderWith } from "../support/temporary-folder.ts";

const NAME = "2026_01_01_000000_change";
const CHANGE = `
export const up = (database) => database.schema.alterTable("locked").addColumn("added", "integer").execute();
export const down = (database) => database.schema.alterTable("locked").dropColumn("added").execute();`;

await onPostgres("ashlar migrate, while another connection uses the table", () => {
  test("S152 waits as long as --lock-timeout says, and prints that it waits, on a rollback too", async () => {
    const own = await postgres.open();
    onTestFinished(() => own.drop());
    await own.database.kysely.schema.createTable("locked").addColumn("n", "integer").execute();
    const root = folderWith({
      "package.json": '{ "type": "module" }',
      "config/database.ts": `export const DATABASES = { default: "main", main: ${JSON.stringify(own.configuration)} };`,
      [`database/migrations/${NAME}.ts`]: CHANGE,
    });
    for (const [command, done] of [
      ["migrate", "Migrated"],
      ["migrate:rollback", "Rolled back"],
    ] as const) {
      const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const reading = own.database.transaction(async () => {
        await sql`select * from locked`.execute(own.database.kysely);
        begun.resolve();
        await ended.promise;
      });
      await begun.promise;
      const child = spawn(process.execPath, [COMMAND, command, "--lock-timeout", "1"], {
        cwd: root,
        env: shellEnvironment(),
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill());
      let output = "";
      child.stdout.on("data", (text) => {
        output += String(text);
        // It keeps the table until the command has said that it waits.
        if (output.includes("Attempt 2")) ended.resolve();
      });
      const [code] = await once(child, "close");
      ended.resolve();
      await reading;
      expect([code, output]).toEqual([
        0,
        expect.stringMatching(
          new RegExp(
            `^${NAME}: a table that it changes is locked .* Attempt 2 in 0\\.5 s\\.\\n[^]*${done} ${NAME}\\n$`,
          ),
        ),
      ]);
    }
  });
});
