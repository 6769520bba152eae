import { isLeftOut, isPlainObject } from "../../../support/index.ts";
import { isHmac } from "../../driver-secrets.ts";
import { error, type Finding } from "../finding.ts";
import { reading } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";

/** The secrets of drivers: present. What is wrong with `JWT_SECRET` is another finding, and so is a private key. */
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
      // That JWT_SECRET is missing as well is said first.
      if (name === "jwt" && !variables.JWT_SECRET) return [];
      return [unreadFinding(name, undefined, "secret")];
    }
    if (name === "jwt" && variable === "JWT_SECRET") return [];
    const problem = `${variable} is not set: DRIVERS.${name} needs a secret.`;
    return [error("secret.missing", { file: ".env", problem, run: "npx ashlar key:generate" })];
  });
}

/**
 * A driver that reads its secret from no variable: the command can't write it.
 *
 * @param algorithm as the driver writes it
 * @param what it needs
 */
export function unreadFinding(driver: string, algorithm: unknown, what: string): Finding {
  const problem = `DRIVERS.${driver} has no ${what}, and reads none from a variable.`;
  return error("secret.missing", { file: "config/api.ts", problem, ...reading(driver, algorithm) });
}
