import { hasApi } from "../features.ts";
import { type Check, type Finding, finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { type IssuingDriver, issuingDriversOf } from "./api.ts";

const LONG_DAYS = 90;
const LONG_MINUTES = LONG_DAYS * 24 * 60;

/** How long tokens, links, logins and sessions live. */
export const LIFETIMES: Check = {
  name: "Lifetimes",
  needsBoot: false,
  run(subject: Subject): Finding[] {
    return [...tokenFindings(subject), ...linkFindings(subject), ...loginFindings(subject)];
  },
};

function tokenFindings(subject: Subject): Finding[] {
  if (!hasApi(subject)) return [];
  return issuingDriversOf(subject).flatMap((driver) => (driver.hasMany ? [] : tokenFindingsOf(subject, driver)));
}

function tokenFindingsOf(subject: Subject, { name, entry }: IssuingDriver): Finding[] {
  const file = "config/api.ts";
  const expires = entry.expires ?? null;
  const isRevocable = entry.authenticates === true;
  if (expires === null && !isRevocable) {
    const problem = "API tokens never expire, and no change of the password or deletion of the user ends them.";
    const lines = [`// in DRIVERS.${name}:`, "expires: 60,"];
    const note = "Or set authenticates: true, which looks up each token in the database.";
    return [finding("tokens.immortal", subject.isProduction ? "error" : "warning", { file, problem, lines, note })];
  }
  if (expires === null) {
    const problem = "API tokens never expire: a stolen one works until its user logs in again or changes the password.";
    return [warning("tokens.immortal", { file, problem, lines: [`// in DRIVERS.${name}:`, "expires: 60,"] })];
  }
  // A stored token can be revoked at any renewal.
  if (isRevocable || (entry.reauthWithinMinutes ?? null) !== null) return [];
  const problem =
    "An expired token can be renewed forever, and authenticates is false: anyone who has one keeps the access.";
  const lines = [`// in DRIVERS.${name}:`, "reauthWithinMinutes: 20160,"];
  return [warning("tokens.renewal", { file, problem, lines })];
}

function linkFindings(subject: Subject): Finding[] {
  if (subject.settings("auth", "GUARDS").passwordResetExpiration !== null) return [];
  const problem = "Links to set a password never expire: an old mail gives access to the account.";
  const lines = ["// in GUARDS:", "passwordResetExpiration: 1440,"];
  return [warning("links.immortal", { file: "config/auth.ts", problem, lines })];
}

function loginFindings(subject: Subject): Finding[] {
  const guards = Object.entries(subject.settings("auth", "GUARDS"));
  const findings = guards.flatMap(([name, guard]) => {
    const options = Object(guard) as Readonly<Record<string, unknown>>;
    return (["absoluteMinutes", "rememberMinutes"] as const)
      .filter((setting) => Number(options[setting]) > LONG_MINUTES)
      .map((setting) => long("config/auth.ts", `GUARDS.${name}`, setting, "Logins"));
  });
  const session = subject.settings("session", "SESSION");
  if (Number(session.absoluteMinutes) > LONG_MINUTES) {
    findings.push(long("config/session.ts", "SESSION", "absoluteMinutes", "Sessions"));
  }
  return findings;
}

function long(file: string, where: string, setting: "absoluteMinutes" | "rememberMinutes", what: string): Finding {
  const problem = `${where}.${setting} is more than ${LONG_DAYS} days. ${what} on a lost device last that long.`;
  const lines = [`// in ${where}:`, `${setting}: ${setting === "rememberMinutes" ? 43_200 : 1440},`];
  return warning("logins.long", { file, problem, lines });
}
