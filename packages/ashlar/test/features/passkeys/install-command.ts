import type { CommandContext } from "ashlar";

const MIGRATION = `import { createCredentialTable } from "ashlar/auth";
import { type Kysely, longText } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await createCredentialTable(database, "passkeys", (table) =>
    table
      .addColumn("name", "varchar(100)", (column) => column.notNull())
      .addColumn("credential_id", "varchar(255)", (column) => column.notNull().unique())
      .addColumn("public_key", longText(database), (column) => column.notNull())
      .addColumn("counter", "integer", (column) => column.notNull()),
  );
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("passkeys").execute();
}
`;

/** `passkeys:install`: adds the table and the pages of passkeys. */
export async function run({ publish }: CommandContext): Promise<void> {
  await publish({
    migrations: { create_passkeys: MIGRATION },
    steps: [
      {
        file: "routes/web.ts",
        done: /\bPasskeysController\b/,
        lines: [
          'import { PasskeyLoginController, PasskeysController } from "passkeys";',
          "// in ROUTES:",
          "...PasskeyLoginController.routes(),",
          "...PasskeysController.routes(),",
        ],
      },
    ],
  });
}
