import { isLeftOut, isPlainObject } from "../../../support/index.ts";
import { isHmac } from "../../secrets/driver-secrets.ts";
import { error, type Finding } from "../finding.ts";
import { reading } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";

/**
 * The drivers' secrets: whether they are present. Problems with `JWT_SECRET` and with private keys are separate
 * findings.
 */
export function driverSecretFindings(subject: Subject): Finding[] {
  const { driverSecrets, variables } = subject;
  if (driverSecrets === null) return [];
  const drivers = Object.entries(subject.settings("api", "DRIVERS")).filter(([, entry]) => {
    if (!isPlainObject(entry) || Object.hasOwn(entry, "jwks") || !isLeftOut(entry.secret)) return false;
    return isHmac(entry.algorithm);
  });
  return drivers.flatMap(([name]) => {
    const variable = driverSecrets.drivers.get(name)?.variables.secret ?? null;
    if (variable === null) {
      // If JWT_SECRET is missing as well, that comes first.
      if (name === "jwt" && !variables.JWT_SECRET) return [];
      return [unreadFinding(name, undefined, "secret")];
    }
    if (name === "jwt" && variable === "JWT_SECRET") return [];
    const problem = `${variable} is not set: DRIVERS.${name} needs a secret.`;
    return [error("secret.missing", { file: ".env", problem, run: "npx ashlar key:generate" })];
  });
}

/**
 * A driver that doesn't read its secret from a variable, so the command can't write it.
 *
 * @param algorithm the algorithm as the driver names it
 * @param what the thing that it needs
 */
export function unreadFinding(driver: string, algorithm: unknown, what: string): Finding {
  const problem = `DRIVERS.${driver} has no ${what}, and reads none from a variable.`;
  return error("secret.missing", { file: "config/api.ts", problem, ...reading(driver, algorithm) });
}
