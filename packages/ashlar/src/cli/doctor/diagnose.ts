import { limited, reasonOf } from "../../support/index.ts";
import { ADDRESS } from "./checks/address.ts";
import { API } from "./checks/api.ts";
import { bootErrors, CONFIGURATION } from "./checks/configuration.ts";
import { DATABASE } from "./checks/database.ts";
import { LIMITS } from "./checks/limits.ts";
import { PACKAGES } from "./checks/packages.ts";
import { PAGES } from "./checks/pages.ts";
import { PUBLIC_FILES } from "./checks/public-files.ts";
import { REPOSITORY } from "./checks/repository.ts";
import { ROUTES } from "./checks/routes.ts";
import { SECRETS } from "./checks/secrets.ts";
import { UPGRADE } from "./checks/upgrade.ts";
import { UPLOADS } from "./checks/uploads.ts";
import { isEcho } from "./echo.ts";
import { featureChecksOf } from "./feature-checks.ts";
import { hasApi } from "./features.ts";
import { type Check, error, type Finding, type SkippedCheck, SkippedError } from "./finding.ts";
import { redactionFor } from "./redaction.ts";
import { Subject } from "./subject.ts";

/** The checks that run first, in the order of the report. */
const FIRST: readonly Check[] = [
  PACKAGES,
  UPGRADE,
  SECRETS,
  REPOSITORY,
  PUBLIC_FILES,
  ADDRESS,
  CONFIGURATION,
  API,
  PAGES,
  LIMITS,
  DATABASE,
];

/** The checks that run after those of features. */
const LAST: readonly Check[] = [UPLOADS, ROUTES];

/** The default time limit of a check, in seconds. */
const SECONDS = 10;

/** One check's findings. */
export interface Section {
  readonly name: string;
  readonly findings: readonly Finding[];
}

/** All results about an application. */
export interface Diagnosis {
  /** The environment that the application was checked for; `null` if unknown. */
  readonly environment: string | null;
  readonly sections: readonly Section[];
  readonly skipped: readonly SkippedCheck[];
  /** Notes that are worth knowing, but aren't problems. */
  readonly notes: readonly string[];
}

/**
 * Checks an application. It changes nothing, creates nothing permanent, and sends nothing.
 *
 * @param asProduction whether to check it as if it ran in production
 */
export async function diagnose(root: string, asProduction: boolean): Promise<Diagnosis> {
  const subject = await Subject.load(root, asProduction);
  try {
    const sections: Section[] = [];
    const skipped: SkippedCheck[] = [];
    for (const check of [...FIRST, ...featureChecksOf(subject), ...LAST]) {
      if (check.needsBoot && subject.boot.application === null) {
        skipped.push({ check: check.name, reason: "the application doesn't boot" });
        continue;
      }
      const reason = (await check.obstacle?.(subject)) ?? null;
      if (reason !== null) skipped.push({ check: check.name, reason });
      else {
        const findings = await findingsOf(check, subject);
        if (findings instanceof SkippedError) skipped.push({ check: check.name, reason: findings.message });
        else sections.push({ name: check.name, findings });
      }
    }
    const redacted = redactionFor(subject);
    const told = withoutEcho(sections, subject).map((one) => ({ ...one, findings: one.findings.map(redacted) }));
    return { environment: subject.environment, sections: told, skipped, notes: notesOf(subject) };
  } finally {
    await limited(SECONDS, "The shutdown", () => subject.close()).catch(() => {});
  }
}

/** A failing check is itself a finding, and never hides others. */
async function findingsOf(check: Check, subject: Subject): Promise<readonly Finding[] | SkippedError> {
  try {
    return await limited(check.seconds ?? SECONDS, `The check "${check.name}"`, () => check.run(subject));
  } catch (thrown) {
    if (thrown instanceof SkippedError) return thrown;
    const { file, line } = subject.placeOfError(thrown);
    const problem = `The check "${check.name}" could not be completed: ${reasonOf(thrown)}`;
    const note = "If the cause is not in your code, please report it.";
    return [error("doctor.check", { file, line, problem, note })];
  }
}

/** Omits startup errors that other findings report with a fix. */
function withoutEcho(sections: readonly Section[], { boot }: Subject): readonly Section[] {
  if (boot.error === null) return sections;
  const all = sections.flatMap(({ findings }) => findings);
  const echoes = bootErrors(boot.error).filter((thrown) => isEcho(thrown, all));
  const said = new Set(echoes.map(reasonOf));
  const isOwn = ({ id, problem }: Finding): boolean => id !== "boot.failed" || !said.has(problem);
  return sections.map((one) => ({ ...one, findings: one.findings.filter(isOwn) }));
}

function notesOf(subject: Subject): string[] {
  return hasApi(subject) ? [] : ["The application has no API tokens. To add them: npx ashlar api:install"];
}
