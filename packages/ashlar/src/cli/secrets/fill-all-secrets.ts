import { readEnvironment } from "../../boot/index.ts";
import { type FilledSecrets, fillSecrets, type NewEnvironment } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import { privateKeyFor } from "../../security/jwt/index.ts";
import { isLeftOut } from "../../support/index.ts";
import { problemOf, type Terminal } from "../terminal.ts";
import { type DriverSecret, driverSecretsOf, usualVariable } from "./driver-secrets.ts";

/**
 * Writes an application's missing secrets to its `.env`, including those of the drivers in `config/api.ts`, each to the
 * variable that the driver reads. If that file can't be loaded, or a driver doesn't read its secret from a variable,
 * reports this, and writes the other secrets.
 *
 * @throws `E_INVALID_CONFIGURATION` if `.env` or `.env.example` cannot be read; `E_COMMAND` if `.env` cannot be filled in
 */
export async function fillAllSecrets(terminal: Terminal): Promise<FilledSecrets> {
  return await fillSecrets(terminal.root, async (environment) => {
    const drivers = await driversWith(terminal, environment);
    const values: Record<string, string> = {};
    for (const { isForeign, driver, algorithm, secret, variables } of drivers) {
      const { secret: variable } = variables;
      if (variable === null && isLeftOut(secret) && !isForeign) terminal.printError(unread(driver, algorithm));
      // Security: in a new file, values come from .env.example, and a value in the repository is not a secret.
      if (variable === null || !(environment.isNew || isLeftOut(secret))) continue;
      values[variable] = (await privateKeyFor(algorithm)) ?? generateSecret();
    }
    return values;
  });
}

async function driversWith(terminal: Terminal, { variables }: NewEnvironment): Promise<DriverSecret[]> {
  try {
    // As the application reads them, the process's variables override those in the file.
    const { drivers } = await driverSecretsOf(terminal.root, { ...variables, ...readEnvironment(null) });
    return [...drivers.values()];
  } catch (error) {
    terminal.printError(
      `config/api.ts can't be loaded, so no secrets were written for its drivers. ${problemOf(error)}`,
    );
    return [];
  }
}

function unread(driver: string, algorithm: unknown): string {
  return (
    `DRIVERS.${driver} of config/api.ts has no secret, and reads none from a variable, so none was written. ` +
    `Write there: secret: env("${usualVariable(driver, algorithm)}"). Then run: npx ashlar key:generate`
  );
}

/** Describes which secrets were written to `.env`, by name; `null` if none were. */
export function describeSecrets({ fromExample, written }: FilledSecrets): string | null {
  if (written.length === 0) return null;
  const names = [...written.slice(0, -2), written.slice(-2).join(" and ")].join(", ");
  const done = `${names} ${written.length === 1 ? "was" : "were"} written to`;
  return fromExample ? `Created .env from .env.example. ${done} it.` : `${done} .env.`;
}
