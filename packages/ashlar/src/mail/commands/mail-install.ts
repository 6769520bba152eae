import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandContext } from "../../boot/index.ts";
import { PACKAGE_FOLDER } from "../../support/index.ts";

const MIGRATION = join(PACKAGE_FOLDER, "stubs/mail/create_mail_outbox.ts.stub");

/** `mail:install`: adds the migration of the outbox, unless the application has it. */
export async function run({ publish }: CommandContext): Promise<void> {
  await publish({ migrations: { create_mail_outbox: await readFile(MIGRATION, "utf8") } });
}
