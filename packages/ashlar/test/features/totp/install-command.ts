import type { CommandContext } from "ashlar";

const MIGRATION = `import { createCredentialTable } from "ashlar/auth";
import { type Kysely, longText } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await createCredentialTable(database, "totp_secrets", (table) =>
    table
      .addColumn("secret", longText(database), (column) => column.notNull())
      .addColumn("period", "integer", (column) => column.notNull()),
  );
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("totp_secrets").execute();
}
`;

/** `totp:install`: adds the table and the pages of authenticator apps. */
export async function run({ publish }: CommandContext): Promise<void> {
  await publish({
    migrations: { create_totp_secrets: MIGRATION },
    steps: [
      {
        file: "routes/web.ts",
        done: /\bTotpController\b/,
        lines: ['import { TotpController } from "totp";', "// in ROUTES:", "...TotpController.routes(),"],
      },
    ],
  });
}
