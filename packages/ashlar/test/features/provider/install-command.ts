import type { CommandContext } from "ashlar";

const CONFIGURATION = `import { env } from "ashlar";

export const EXAMPLE_SITE = {
  issuer: env("EXAMPLE_SITE_ISSUER"),
  clientId: env("EXAMPLE_SITE_CLIENT_ID"),
  publicKey: env("EXAMPLE_SITE_PUBLIC_KEY"),
};
`;

const MIGRATION = `import { createCredentialTable } from "ashlar/auth";
import type { Kysely } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await createCredentialTable(database, "example_site_identities", (table) =>
    table
      .addColumn("subject", "varchar(255)", (column) => column.notNull().unique())
      .addColumn("email", "varchar(254)", (column) => column.notNull()),
  );
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("example_site_identities").execute();
}
`;

/** `example-site:install`: adds the configuration, the table and the pages of accounts at example-site. */
export async function run({ publish }: CommandContext): Promise<void> {
  await publish({
    files: { "config/example_site.ts": CONFIGURATION },
    migrations: { create_example_site_identities: MIGRATION },
    steps: [
      {
        file: "routes/web.ts",
        done: /\bExampleSiteController\b/,
        lines: [
          'import { ExampleSiteController, IdentitiesController } from "example-site";',
          "// in ROUTES:",
          "...ExampleSiteController.routes(),",
          "...IdentitiesController.routes(),",
        ],
      },
    ],
  });
}
