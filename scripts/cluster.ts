// `npm run test:cluster`: tests the manual's promises to operators with real processes on this machine, and writes the figures
// to docs/operations.md. If a scenario fails, the exit code is 1 and the page isn't changed.
//
//   npm run test:cluster                 all scenarios
//   npm run test:cluster -- rolling      those with these names
//   npm run test:cluster -- --list       only their names
import { readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { GALERA } from "./cluster/galera.ts";
import { KILLS } from "./cluster/kills.ts";
import { OVERLOAD } from "./cluster/overload.ts";
import { PGBOUNCER } from "./cluster/pgbouncer.ts";
import { PROMOTION } from "./cluster/promotion.ts";
import { withResults } from "./cluster/results.ts";
import { ROLLING } from "./cluster/rolling.ts";
import { ROTATION } from "./cluster/rotation.ts";
import type { Outcome, Scenario } from "./cluster/scenario.ts";
import { SENTINEL } from "./cluster/sentinel.ts";
import { STORM } from "./cluster/storm.ts";
import { undoEverything } from "./cluster/undoing.ts";
import { VERSIONS } from "./cluster/versions.ts";

const SCENARIOS: readonly Scenario[] = [
  ROLLING,
  OVERLOAD,
  KILLS,
  PGBOUNCER,
  PROMOTION,
  SENTINEL,
  GALERA,
  STORM,
  VERSIONS,
  ROTATION,
];
const PAGE = join(import.meta.dirname, "../docs/operations.md");

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
const chosen = SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

/** Runs a scenario within its time limit. After that, the process ends, with everything that the scenario has started. */
async function bounded({ name, seconds, run }: Scenario): Promise<Outcome> {
  const timer = setTimeout(() => {
    console.error(`${name} took longer than ${seconds} seconds.`);
    void end(1);
  }, seconds * 1000);
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}

let isEnding = false;

async function end(exitCode: number): Promise<void> {
  isEnding = true;
  await undoEverything();
  process.exit(exitCode);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void end(128 + constants.signals[signal]));
}

if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(", ")}. The scenarios are: ${SCENARIOS.map(({ name }) => name).join(", ")}.`);
  process.exitCode = 1;
} else if (flags.list) {
  for (const { name, title } of SCENARIOS) console.log(`${name}: ${title}`);
} else {
  for (const scenario of chosen) {
    if (isEnding) break;
    console.log(`${scenario.name} (at most ${scenario.seconds} s)`);
    try {
      const outcome = await bounded(scenario);
      console.table(outcome.rows);
      for (const failure of outcome.failures) console.error(`FAILED ${scenario.name}: ${failure}`);
      if (outcome.failures.length > 0) process.exitCode = 1;
      else
        writeFileSync(
          PAGE,
          withResults(readFileSync(PAGE, "utf8"), scenario, outcome, new Date().toISOString().slice(0, 10)),
        );
    } catch (error) {
      // If the process receives a signal, everything that the scenario has started ends first.
      if (isEnding) break;
      console.error(error);
      process.exitCode = 1;
    }
  }
}
