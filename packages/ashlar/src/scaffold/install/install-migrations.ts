import { type ApiNames, USUAL_NAMES } from "../files/api-names.ts";
import type { NewFile } from "../files/files.ts";
import { readStub } from "../files/stub.ts";
import { type ApplicationTraits, stubValues } from "../files/stub-files.ts";
import {
  hasUsersTable,
  migrationCodes,
  migrationPaths,
  migrationsAdd,
  migrationsCall,
  migrationsMention,
} from "../making/make.ts";
import type { Feature } from "./install-steps.ts";

/** A column that is needed only if users verify their addresses. */
const VERIFIED_AT = "verified_at";
/** The columns that every table of users has. */
const USER_COLUMNS = ["blocked_at", "closes_at"];

/** The table of waiting mails. In a new application, the migration that creates it also adds the column `priority`. */
const MAIL_OUTBOX = "mail_outbox";

const RATE_LIMITS = ["create_rate_limits", "throttle/create_rate_limits.ts", "rate_limits"] as const;

/** The migrations of each feature, in the order they run, and the table or column that each adds. */
const ACCOUNTS: readonly (readonly [name: string, stub: string, brings: string])[] = [
  ["add_verified_at_to_users", "auth/migrations/add_verified_at_to_users.ts", VERIFIED_AT],
  ["create_logins", "auth/migrations/create_logins.ts", "logins"],
  ["create_password_resets", "auth/migrations/create_password_resets.ts", "password_resets"],
  ["create_email_changes", "auth/migrations/create_email_changes.ts", "email_changes"],
  ["create_security_events", "auth/migrations/create_security_events.ts", "security_events"],
  ["create_maintenance", "auth/migrations/create_maintenance.ts", "maintenance"],
  ["create_mail_outbox", "mail/create_mail_outbox.ts", MAIL_OUTBOX],
  RATE_LIMITS,
];

const MIGRATIONS: Readonly<Record<Feature, typeof ACCOUNTS>> = {
  pages: ACCOUNTS,
  json: ACCOUNTS,
  api: [RATE_LIMITS],
};

/** The table for drivers whose users have several tokens. */
const API_TOKENS = ["create_api_tokens", "api/create_api_tokens.ts", "api_tokens"] as const;

/** Migrations that add a column to the users table. A new users table already has the column. */
const TO_USERS = /_to_users$/;

/** The migration that adds the column for users' tokens, if no existing one does. */
function tokenMigrations(
  existing: readonly string[],
  { table, tokenColumn }: ApiNames,
): [name: string, stub: string][] {
  if (tokenColumn === null || migrationsAdd(existing, table, tokenColumn)) return [];
  return [[`add_${tokenColumn}_to_${table}`, "api/migration.ts"]];
}

/**
 * Returns the migrations that an application lacks for a feature, dated after the existing ones. If the application has no
 * users table yet, the first one creates it.
 *
 * @param traits the application's traits after the installation
 * @param hasManyTokens whether users can have several API tokens
 */
export async function missingMigrations(
  root: string,
  feature: Feature,
  traits: ApplicationTraits,
  hasManyTokens: boolean,
): Promise<NewFile[]> {
  const { apiNames = USUAL_NAMES } = traits;
  const { table, epochColumn } = apiNames;
  const existing = await migrationCodes(root);
  const missing: (readonly [name: string, stub: string])[] =
    feature === "api" ? tokenMigrations(existing, apiNames) : [];
  for (const [name, stub, brings] of [...MIGRATIONS[feature], ...(hasManyTokens ? [API_TOKENS] : [])]) {
    if (brings === VERIFIED_AT && !traits.verification) continue;
    if (!migrationsMention(existing, brings)) missing.push([name, stub]);
  }
  const hasOutbox = feature !== "api" && migrationsMention(existing, MAIL_OUTBOX);
  if (hasOutbox && !migrationsCall(existing, "addPriorityToMailOutbox")) {
    missing.push(["add_priority_to_mail_outbox", "mail/add_priority_to_mail_outbox.ts"]);
  }
  if (!migrationsAdd(existing, table, epochColumn)) {
    missing.push([`add_${epochColumn}_to_${table}`, "auth/migrations/add_access_epoch_to_users.ts"]);
  }
  for (const column of USER_COLUMNS) {
    if (migrationsAdd(existing, table, column)) continue;
    missing.push([`add_${column}_to_${table}`, `auth/migrations/add_${column}_to_users.ts`]);
  }
  const wanted: typeof missing =
    table !== USUAL_NAMES.table || (await hasUsersTable(root, existing))
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
