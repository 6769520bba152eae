import type { CommandContext } from "ashlar";

const CONFIGURATION = `export const INVITATIONS = {
  expiresInMinutes: 60,
};
`;

const MIGRATION = `import { type Kysely, primaryKey } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("invitations")
    .$call(primaryKey(database))
    .addColumn("email", "varchar(254)", (column) => column.notNull())
    .execute();
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("invitations").execute();
}
`;

/** `invitations:install`: adds the configuration and the table of invitations. */
export async function run({ publish }: CommandContext): Promise<void> {
  await publish({
    files: { "config/invitations.ts": CONFIGURATION },
    migrations: { create_invitations: MIGRATION },
    steps: [
      {
        file: "app/kernel.ts",
        done: /\bInvitedMiddleware\b/,
        lines: [
          'import { InvitedMiddleware } from "invitations";',
          "// in routeMiddleware:",
          "invited: [InvitedMiddleware],",
        ],
      },
    ],
  });
}
