import { counted } from "../../support/index.ts";
import { emphasis, type Terminal } from "../terminal.ts";
import type { Diagnosis } from "./diagnose.ts";
import type { Finding } from "./finding.ts";

/** The document that `ashlar doctor --json` prints. New members may be added, but these won't be removed. */
export interface DoctorReport {
  /** The version, which changes if a member is removed, or changes its meaning. */
  readonly version: 1;
  /** The environment that the application was checked for: `production`, `development`, `test`; `null` if unknown. */
  readonly environment: string | null;
  readonly errors: number;
  readonly warnings: number;
  readonly findings: readonly Finding[];
  /** The checks that were skipped, each with the reason. */
  readonly skipped: readonly { readonly check: string; readonly reason: string }[];
  readonly notes: readonly string[];
}

/** The document with all findings. */
export function reportOf({ environment, sections, skipped, notes }: Diagnosis): DoctorReport {
  const findings = sections.flatMap((section) => section.findings);
  const errors = findings.filter(({ severity }) => severity === "error").length;
  return { version: 1, environment, errors, warnings: findings.length - errors, findings, skipped, notes };
}

/** Prints the findings by subject, for people. */
export function printReport(terminal: Terminal, diagnosis: Diagnosis): void {
  const { errors, warnings, environment, skipped, notes } = reportOf(diagnosis);
  terminal.print(`Checked as ${emphasis(environment ?? "an unknown environment", "bold")}.`);
  for (const { name, findings } of diagnosis.sections) {
    if (findings.length === 0) continue;
    terminal.print();
    terminal.print(emphasis(name, "bold"));
    for (const finding of findings) printFinding(terminal, finding);
  }
  terminal.print();
  for (const { check, reason } of skipped) terminal.print(`Not checked, because ${reason}: ${check}`);
  for (const note of notes) terminal.print(note);
  const outcome = `${counted(errors, "error")}, ${counted(warnings, "warning")}`;
  terminal.print(emphasis(outcome, errors > 0 ? "red" : warnings > 0 ? "yellow" : "green"));
}

function printFinding(terminal: Terminal, { id, severity, file, line, problem, remedy }: Finding): void {
  const color = severity === "error" ? "red" : "yellow";
  const place = file === null ? "" : `${file}${line === null ? "" : `:${line}`}: `;
  terminal.print(`  ${emphasis(severity, color)} ${place}${problem} ${emphasis(`[${id}]`, "dim")}`);
  if (remedy.remove !== null) terminal.print(`    In ${remedy.file}, remove: ${emphasis(remedy.remove, "bold")}`);
  if (remedy.lines.length > 0) {
    terminal.print(`    In ${remedy.file}:`);
    for (const text of remedy.lines) terminal.print(`      ${emphasis(text, "bold")}`);
  }
  if (remedy.run !== null) terminal.print(`    Run: ${emphasis(remedy.run, "bold")}`);
  if (remedy.note !== null) terminal.print(`    ${remedy.note}`);
}
