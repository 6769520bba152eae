import { isLeftOut, isPlainObject } from "../../../support/index.ts";
import { unsetSecretsOf } from "../../driver-secrets.ts";
import { error, type Finding } from "../finding.ts";
import type { Subject } from "../subject.ts";

/** The variables that drivers read their secrets from, and that are not set, by the names of the drivers. */
export type UnsetVariables = ReadonlyMap<string, string>;

/** The secrets of drivers: present. What is wrong with `JWT_SECRET` is another finding, and so is a private key. */
export function driverSecretFindings(subject: Subject, unset: UnsetVariables | null): Finding[] {
  if (unset === null) return [];
  const drivers = Object.entries(subject.settings("api", "DRIVERS")).filter(([, entry]) => {
    if (!isPlainObject(entry) || Object.hasOwn(entry, "jwks") || !isLeftOut(entry.secret)) return false;
    return entry.algorithm === undefined || String(entry.algorithm).startsWith("HS");
  });
  return drivers.flatMap(([name]) => {
    const variable = unset.get(name);
    if (variable === undefined) return unreadFindings(subject, name);
    if (name === "jwt" && variable === "JWT_SECRET") return [];
    const problem = `${variable} is not set: DRIVERS.${name} needs a secret.`;
    return [error("secret.missing", { file: ".env", problem, run: "npx ashlar key:generate" })];
  });
}

/** A driver that reads its secret from no variable: the command can't write it. */
function unreadFindings(subject: Subject, name: string): Finding[] {
  // That JWT_SECRET is missing as well is said first.
  if (name === "jwt" && !subject.variables.JWT_SECRET) return [];
  const variable = name === "jwt" ? "JWT_SECRET" : `${name.toUpperCase().replaceAll("-", "_")}_JWT_SECRET`;
  const problem = `DRIVERS.${name} has no secret, and reads none from a variable.`;
  const lines = [`// in DRIVERS.${name}:`, `secret: env("${variable}"),`];
  return [error("secret.missing", { file: "config/api.ts", problem, lines, run: "npx ashlar key:generate" })];
}

/** Finds the variables that drivers read their secrets from, and that are not set; `null` if that can't be told. */
export async function unsetVariablesOf({ root, variables }: Subject): Promise<UnsetVariables | null> {
  const unset = await unsetSecretsOf(root, variables).catch(() => null);
  return unset === null ? null : new Map(unset.map(({ driver, variable }) => [driver, variable]));
}
