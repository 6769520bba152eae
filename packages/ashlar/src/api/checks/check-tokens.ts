import type { CheckContext } from "../../boot/index.ts";
import type {} from "../../database/index.ts";
import { TOKEN_TABLE } from "../stores/many-store.ts";
import { PERSONAL_TOKEN_TABLE } from "../stores/personal-store.ts";
import { type IssuingDriver, issuingDriversIn } from "./issuing-drivers.ts";

const FILE = "config/api.ts";

/** Checks the lifetimes of tokens, and the tables that hold them. */
export async function run(context: CheckContext): Promise<void> {
  const drivers = issuingDriversIn(context.settings("api", "DRIVERS") ?? {});
  for (const driver of drivers) if (!driver.hasMany) checkLifetime(context, driver);
  await checkTables(context, drivers);
}

function checkLifetime({ error, isProduction, warning }: CheckContext, { name, entry }: IssuingDriver): void {
  const expires = entry.expires ?? null;
  const isRevocable = entry.authenticates === true;
  const reported = { file: FILE, lines: [`// in DRIVERS.${name}:`, "expires: 60,"] };
  if (expires === null && !isRevocable) {
    const problem = "API tokens never expire, and no change of the password or deletion of the user ends them.";
    const note = "Or set authenticates: true, which looks up each token in the database.";
    (isProduction ? error : warning)("tokens.immortal", { ...reported, problem, note });
  } else if (expires === null) {
    const problem = "API tokens never expire: a stolen one works until its user logs in again or changes the password.";
    warning("tokens.immortal", { ...reported, problem });
  } else if (!isRevocable && (entry.reauthWithinMinutes ?? null) === null) {
    // A stored token can be revoked at any renewal.
    const problem =
      "An expired token can be renewed forever, and authenticates is false: anyone who has one keeps the access.";
    warning("tokens.renewal", {
      file: FILE,
      problem,
      lines: [`// in DRIVERS.${name}:`, "reauthWithinMinutes: 20160,"],
    });
  }
}

async function checkTables({ database, error }: CheckContext, drivers: readonly IssuingDriver[]): Promise<void> {
  const tables = [
    ...(drivers.some(({ hasMany }) => hasMany)
      ? [{ name: TOKEN_TABLE, of: "tokens: many()", run: "api:install --many --migrations" }]
      : []),
    ...(drivers.some(({ hasPersonal }) => hasPersonal)
      ? [{ name: PERSONAL_TOKEN_TABLE, of: "personal()", run: "tokens:install" }]
      : []),
  ];
  if (tables.length === 0) return;
  await database(async ({ kysely }) => {
    const existing = new Set((await kysely.introspection.getTables()).map(({ name }) => name));
    for (const { name, of, run } of tables) {
      if (existing.has(name)) continue;
      const problem = `The table ${name} is missing, which holds the tokens of drivers with ${of}.`;
      error("api.table", { problem, run: `npx ashlar ${run} && npx ashlar migrate` });
    }
  });
}
