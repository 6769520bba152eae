import { join } from "node:path";
import { changeJwtKeys, fillSecrets, type JwtKeyNames, jwtKeyNames, type KeyChange } from "../scaffold/index.ts";
import { type KeyAlgorithm, keyCommand } from "../security/jwt/index.ts";
import { AshlarError, readEnvFile } from "../support/index.ts";
import type { Terminal } from "./terminal.ts";

/** The staged key must be known to those who verify before it signs. */
const PUBLISHED = "Verifiers find its public key at /.well-known/jwks.json, if Api.keys() is in your routes.";

/**
 * Changes the private key that a driver's API tokens are signed with, and says what to do next.
 *
 * @param driver the driver's name in `DRIVERS`
 * @throws `E_COMMAND` if there is no driver with such a name, or the change cannot be made
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
  // A new file starts as a copy of .env.example, with the other secrets.
  if (readEnvFile(path) === null) await fillSecrets(root);
  const names = await jwtKeyNames(root, driver);
  const isDone = await changeJwtKeys(path, algorithm, names, change);
  const command = keyCommand(driver, algorithm);
  terminal.print(isDone ? done(change, algorithm, command, names) : undone(change, command, names));
  if (!names.isRead) terminal.print(configuration(driver, algorithm, names).join("\n"));
}

function done(
  change: KeyChange,
  algorithm: KeyAlgorithm,
  command: string,
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
        `.env has a new key in ${next}, which verifies but doesn't sign yet. Deploy it to every process. ${PUBLISHED} ` +
        `Then run: ${command} --promote`
      );
    case "promote":
      return (
        `The staged key is now ${current}, and the public key of the old one is first in ${previous}. Deploy it. Remove ` +
        "the old one once the last token that it signed has expired."
      );
  }
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
    `    secret: env("${current}"),`,
    `    nextSecret: env("${next}"),`,
    `    previousSecrets: env("${previous}"),`,
  ];
}
