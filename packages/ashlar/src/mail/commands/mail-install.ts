import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandContext } from "../../boot/index.ts";
import { PACKAGE_FOLDER } from "../../support/index.ts";

const MIGRATIONS = "database/migrations";

/**
 * `mail:install`: adds the outbox migrations that the application lacks: for the table, or for its column `priority`.
 */
export async function run({ publish, root }: CommandContext): Promise<void> {
  const migrations = await migrationsIn(join(root, MIGRATIONS));
  const hasTable = migrations.some(([name]) => name.endsWith("_create_mail_outbox.ts"));
  const hasPriority = migrations.some(([, text]) => text.includes("addPriorityToMailOutbox"));
  await publish({
    migrations: {
      create_mail_outbox: await stub("create_mail_outbox"),
      ...(hasTable && !hasPriority && { add_priority_to_mail_outbox: await stub("add_priority_to_mail_outbox") }),
    },
  });
}

async function migrationsIn(folder: string): Promise<(readonly [name: string, text: string])[]> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith(".ts"));
  return await Promise.all(files.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const));
}

function stub(name: string): Promise<string> {
  return readFile(join(PACKAGE_FOLDER, "stubs/mail", `${name}.ts.stub`), "utf8");
}
