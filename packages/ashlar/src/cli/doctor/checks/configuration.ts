import { AshlarError, reasonOf, SeveralProblemsError } from "../../../support/index.ts";
import { featuresOf } from "../features.ts";
import { type Check, error, FINDINGS, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

/** Checks the configuration files, and startup. */
export const CONFIGURATION: Check = {
  name: "Configuration and boot",
  needsBoot: false,
  run(subject: Subject): Finding[] {
    const failed = [...subject.failedSections].map(([name, reason]) => failedFile(subject, name, reason));
    return [...failed, ...bootFindings(subject)];
  },
};

function failedFile(subject: Subject, name: string, reason: unknown): Finding {
  const place = subject.placeOfError(reason instanceof Error ? (reason.cause ?? reason) : reason);
  const file = `config/${name}.ts`;
  const line = place.file === file ? place.line : null;
  return error("config.file", { file, line, problem: reasonOf(reason), note: remedyOf(reason) });
}

function bootFindings(subject: Subject): Finding[] {
  const { boot } = subject;
  if (boot.application !== null) {
    // A check reports the others as its own findings.
    const warnings = boot.warnings.filter(({ finding }) => finding === null || !isDeclared(subject, finding));
    return warnings.map(({ message }) => {
      return warning("boot.warning", { problem: message, note: "The warning says what to do." });
    });
  }
  if (boot.error === null) {
    if (boot.hasEntry) return [];
    const problem = "There is no app.ts here that calls createApplication().";
    const lines = [
      'import { createApplication } from "ashlar";',
      'import { Kernel } from "./app/kernel.ts";',
      "",
      "export default await createApplication({ root: import.meta.dirname, kernel: Kernel });",
    ];
    return [error("boot.entry", { file: "app.ts", problem, lines })];
  }
  return bootErrors(boot.error).map((reason) => {
    const { file, line } = subject.placeOfError(reason);
    return error("boot.failed", { file, line, problem: reasonOf(reason), note: remedyOf(reason) });
  });
}

function isDeclared(subject: Subject, finding: string): boolean {
  if (Object.hasOwn(FINDINGS, finding)) return true;
  const checks = featuresOf(subject).flatMap(({ feature }) => feature.checks ?? []);
  return checks.some(({ findings }) => Object.hasOwn(findings, finding));
}

/** The errors that failed startup: the thrown one, or all those it contains. */
export function bootErrors(thrown: unknown): readonly unknown[] {
  return thrown instanceof SeveralProblemsError ? thrown.errors : [thrown];
}

/** The framework's errors end with advice. */
function remedyOf(reason: unknown): string {
  return reason instanceof AshlarError
    ? "The message says what to do."
    : "Correct the code at that place, and run npx ashlar doctor again.";
}
