import { ashlar, type Outcome } from "./command-line.ts";
import { edit } from "./generated-application.ts";

/** Adds personal tokens and abilities to a generated application. */
export async function installPersonalTokens(root: string): Promise<Outcome> {
  const outcome = await ashlar(root, "tokens:install");
  await edit(root, "config/api.ts", [
    "export const DRIVERS",
    'export const ABILITIES = ["orders.read", "orders.write"];\n\nexport const DRIVERS',
  ]);
  return outcome;
}
