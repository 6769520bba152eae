import { isLeftOut, isPlainObject } from "../../../support/index.ts";
import { isHmac } from "../../secrets/driver-secrets.ts";
import { error, type Finding } from "../finding.ts";
import { reading } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";

/**
 * Checks that the drivers have their secrets. Problems with `JWT_SECRET` and with private keys are separate findings.
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
      // If JWT_SECRET is missing as well, that has to be fixed first.
      if (name === "jwt" && !variables.JWT_SECRET) return [];
      return [unreadFinding(name, undefined, "secret")];
    }
    if (name === "jwt" && variable === "JWT_SECRET") return [];
    const problem = `${variable} is not set: DRIVERS.${name} needs a secret.`;
    return [error("secret.missing", { file: ".env", problem, run: "npx ashlar key:generate" })];
  });
}

/**
 * The finding about a driver that doesn't read its secret from a variable. The command can't write such a secret.
 *
 * @param algorithm the algorithm, as named in the driver
 * @param what what the driver needs: a secret or a private key
 */
export function unreadFinding(driver: string, algorithm: unknown, what: string): Finding {
  const problem = `DRIVERS.${driver} has no ${what}, and reads none from a variable.`;
  return error("secret.missing", { file: "config/api.ts", problem, ...reading(driver, algorithm) });
}
