import { join } from "node:path";
import { readEnvironment } from "../../boot/index.ts";
import {
  changeJwtKeys,
  type JwtKeyNames,
  jwtKeyNames,
  type KeyChange,
  writtenKeyVariables,
} from "../../scaffold/index.ts";
import { type KeyAlgorithm, keyCommand } from "../../security/jwt/index.ts";
import { AshlarError, isLeftOut, readEnvFile } from "../../support/index.ts";
import { problemOf, type Terminal } from "../terminal.ts";
import { type DriverSecrets, driverSecretsOf, isHmac } from "./driver-secrets.ts";
import { describeSecrets, fillAllSecrets } from "./fill-all-secrets.ts";

/**
 * Changes the private key that signs a driver's API tokens, and prints the next steps.
 *
 * @param driver the driver's name in `DRIVERS`
 * @throws `E_COMMAND` if a driver can't have this name, the driver doesn't read its key from a variable, or the change
 * isn't possible
 */
export async function generateJwtKey(
  terminal: Terminal,
  algorithm: KeyAlgorithm,
  driver: string,
  change: KeyChange,
): Promise<void> {
  if (!/^[a-z][\w-]*$/i.test(driver))
    throw new AshlarError("E_COMMAND", "--driver takes a name in DRIVERS, such as jwt.");
  const { root } = terminal;
  const path = join(root, ".env");
  // A new file starts as a copy of .env.example, with all secrets filled in.
  const filled = readEnvFile(path) === null ? await fillAllSecrets(terminal) : null;
  const { names, isRead } = await keysOf(root, driver);
  const isMade = change === "fill" && filled?.written.includes(names.current) === true;
  const isDone = !isMade && (await changeJwtKeys(path, algorithm, names, change));
  const command = keyCommand(driver, algorithm);
  if (isMade) terminal.print(describeSecrets(filled)!);
  else terminal.print(isDone ? done(change, algorithm, driver, names) : undone(change, command, names));
  if (!isRead) terminal.print(configuration(driver, algorithm, names).join("\n"));
}

/** The variables for a driver's keys, and whether `config/api.ts` reads all of them. */
async function keysOf(
  root: string,
  driver: string,
): Promise<{ readonly names: JwtKeyNames; readonly isRead: boolean }> {
  const variables = readEnvironment(root);
  let secrets: DriverSecrets;
  try {
    secrets = await driverSecretsOf(root, variables);
  } catch (error) {
    return { names: await writtenNames(root, driver, error), isRead: true };
  }
  const names = namesOf(driver, secrets);
  return { names, isRead: Object.values(names).every((name) => secrets.read.has(name)) };
}

function namesOf(driver: string, { drivers }: DriverSecrets): JwtKeyNames {
  const found = drivers.get(driver);
  // The driver hasn't been written yet, or its algorithm is about to change, in which case its secret must still
  // verify.
  if (found === undefined || (isHmac(found.algorithm) && !isLeftOut(found.secret))) return jwtKeyNames(driver);
  if (found.isForeign) {
    throw new AshlarError(
      "E_COMMAND",
      `DRIVERS.${driver} accepts the tokens of another issuer, and doesn't have its own key.`,
    );
  }
  if (found.variables.secret === null) {
    const problem = `.env was not changed. DRIVERS.${driver} of config/api.ts reads its secret from no variable.`;
    throw new AshlarError(
      "E_COMMAND",
      `${problem} Write there: ${readingOf(jwtKeyNames(driver))}. Then run this again.`,
    );
  }
  return jwtKeyNames(driver, found.variables);
}

/** Reads the names from the text of `config/api.ts` if the file can't be loaded. */
async function writtenNames(root: string, driver: string, cause: unknown): Promise<JwtKeyNames> {
  const written = await writtenKeyVariables(root, driver);
  if (written !== null && written.secret !== null) return jwtKeyNames(driver, written);
  const problem = `.env was not changed. config/api.ts can't be loaded, and its text doesn't tell the variable of DRIVERS.${driver}.`;
  throw new AshlarError("E_COMMAND", `${problem} ${problemOf(cause)}`, { cause });
}

function done(
  change: KeyChange,
  algorithm: KeyAlgorithm,
  driver: string,
  { current, next, previous }: JwtKeyNames,
): string {
  switch (change) {
    case "fill":
      return `${current} was written to .env: a private key for ${algorithm}.`;
    case "rotate":
      return (
        `.env has a new ${current}, and the public key of the old one is now first in ${previous}. Restart the ` +
        "application. If the old key has leaked, remove it from the list: tokens made with it are still accepted."
      );
    case "stage":
      return (
        `.env has a new key in ${next}, which verifies but doesn't sign yet. Deploy it to every process. ${published(driver)} ` +
        `Then run: ${keyCommand(driver, algorithm)} --promote`
      );
    case "promote":
      return (
        `The staged key is now ${current}, and the public key of the old one is first in ${previous}. Deploy it. Remove ` +
        "the old one once the last token that it signed has expired."
      );
  }
}

/** Where verifiers find a staged key. They must have it before it signs tokens. */
function published(driver: string): string {
  const [folder, options] = driver === "jwt" ? ["", ""] : [`${driver}/`, `{ driver: "${driver}" }`];
  return `Verifiers find its public key at /.well-known/${folder}jwks.json, if Api.keys(${options}) is in your routes.`;
}

function undone(change: KeyChange, command: string, { current }: JwtKeyNames): string {
  return change === "fill"
    ? `.env already has ${current}, which was not changed. To replace it and still accept its tokens: ${command} --rotate`
    : `.env has no ${current} yet, so nothing was changed. Run: ${command}`;
}

/** The lines that make the driver use the key. */
function configuration(driver: string, algorithm: KeyAlgorithm, { current, next, previous }: JwtKeyNames): string[] {
  return [
    `In config/api.ts, in DRIVERS.${driver}:`,
    `    algorithm: "${algorithm}",`,
    `    ${readingOf({ current })},`,
    `    nextSecret: env("${next}"),`,
    `    previousSecrets: env("${previous}"),`,
  ];
}

function readingOf({ current }: Pick<JwtKeyNames, "current">): string {
  return `secret: env("${current}")`;
}
