import type { NewFile } from "./files.ts";
import type { Feature } from "./install-steps.ts";
import { hasUsersTable, migrationPaths, migrationsMention } from "./make.ts";
import { readStub } from "./stub.ts";
import { type ApplicationTraits, stubValues } from "./stub-files.ts";

/** The column that tables made before it was known lack. */
const EPOCH = "access_epoch";

const RATE_LIMITS = ["create_rate_limits", "throttle/create_rate_limits.ts", "rate_limits"] as const;

/** The migrations of a feature, in the order they run in, and what each brings. */
const MIGRATIONS: Readonly<Record<Feature, readonly (readonly [name: string, stub: string, brings: string])[]>> = {
  pages: [
    ["add_verified_at_to_users", "auth/migrations/add_verified_at_to_users.ts", "verified_at"],
    ["create_sessions", "auth/migrations/create_sessions.ts", "sessions"],
    ["create_password_resets", "auth/migrations/create_password_resets.ts", "password_resets"],
    ["create_email_changes", "auth/migrations/create_email_changes.ts", "email_changes"],
    ["create_maintenance", "auth/migrations/create_maintenance.ts", "maintenance"],
    RATE_LIMITS,
  ],
  api: [["add_api_token_to_users", "api/migration.ts", "api_token"], RATE_LIMITS],
};

/** What adds a column to the table of users: a table that is made now has it from the start. */
const TO_USERS = /_to_users$/;

/**
 * The migrations that an application lacks for a feature, each after the last one there. If it has nothing to do with a
 * table of users yet, the first makes that.
 *
 * @param traits those that the application is to have
 */
export async function missingMigrations(root: string, feature: Feature, traits: ApplicationTraits): Promise<NewFile[]> {
  const missing: (readonly [name: string, stub: string])[] = [];
  for (const [name, stub, brings] of MIGRATIONS[feature]) {
    if (!(await migrationsMention(root, brings))) missing.push([name, stub]);
  }
  if (!(await migrationsMention(root, EPOCH))) {
    // A table of sessions that is made now has the column.
    const makesSessions = missing.some(([name]) => name === "create_sessions");
    const tables = feature === "pages" && !makesSessions ? ["users", "sessions"] : ["users"];
    for (const table of tables)
      missing.push([`add_${EPOCH}_to_${table}`, `auth/migrations/add_${EPOCH}_to_${table}.ts`]);
  }
  const wanted: typeof missing = (await hasUsersTable(root))
    ? missing
    : [
        ["create_users", "application/database/migrations/create_users.ts"],
        ...missing.filter(([name]) => !TO_USERS.test(name)),
      ];
  const paths = await migrationPaths(
    root,
    wanted.map(([name]) => name),
  );
  const values = stubValues(traits);
  return Promise.all(
    wanted.map(async ([, stub], index) => ({ path: paths[index]!, text: await readStub(stub, values) })),
  );
}
