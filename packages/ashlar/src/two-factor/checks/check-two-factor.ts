import type { CheckContext } from "../../boot/index.ts";
import type {} from "../../database/index.ts";

/** Checks that the table of authenticators exists. Startup makes sure that there are routes, and warns if guards ask fewer steps. */
export async function run({ database, error }: CheckContext): Promise<void> {
  await database(async ({ kysely }) => {
    const tables = await kysely.introspection.getTables();
    if (tables.some(({ name }) => name === "authenticators")) return;
    const problem = "The table authenticators is missing, so every login fails.";
    error("factors.table", { problem, run: "npx ashlar auth --two-factor && npx ashlar migrate" });
  });
}
