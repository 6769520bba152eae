import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectConfiguration, type ViteUserConfig } from "vitest/config";
import { SlowestFirst } from "./packages/ashlar/test/support/slowest-first.ts";

const source = fileURLToPath(new URL("./packages/ashlar/src", import.meta.url));

const countsReporter = fileURLToPath(new URL("./.ci/counts-reporter.mjs", import.meta.url));
const runFolder = fileURLToPath(new URL("./packages/ashlar/test/support/run-folder.ts", import.meta.url));
const cpuProfile = fileURLToPath(new URL("./packages/ashlar/test/support/cpu-profile.ts", import.meta.url));
const sharedWorker = fileURLToPath(new URL("./packages/ashlar/test/support/shared-worker.ts", import.meta.url));

// A zone of no whole hours that is behind UTC: a time that is formatted or compared in the wrong one shows.
process.env.TZ ??= "America/St_Johns";

// Where a machine that runs the tests wants their counts, it names a file for .ci/counts-reporter.mjs.
const report = process.env.ASHLAR_TEST_REPORT;

/** CI runs the tests in the same order each time, so that its result says something about the change alone. */
const CI_SEED = 1;

/** Tests of code that keeps no state in its modules. Their files can share a process and its loaded modules. */
const UNITS =
  "packages/ashlar/src/{boot,cli,client,database,events,http,kernel,mail,node,redis,routing,scaffold,security,server,session,support,testing,throttle,views}/**/*.test.ts";

/** Tests of features with users, whose files share a process among themselves. */
const FEATURES = [
  "packages/ashlar/src/{api,auth,authenticators,login-links,passkeys,two-factor}/**/*.test.ts",
  "packages/ashlar/test/{conformance,vectors}/**/*.test.ts",
];

/** Tests of databases as they are; these share a process as well. */
const DATABASES = "packages/ashlar/test/databases/**/*.test.ts";

const TESTS = ["packages/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "scripts/**/*.test.ts"];

/** Files that share processes, and what these loaded. */
const shared = (
  name: string,
  include: string[],
  { exclude = [], isShuffled = true }: { exclude?: string[]; isShuffled?: boolean } = {},
): TestProjectConfiguration => ({
  extends: true,
  test: {
    name,
    include,
    exclude: ["**/node_modules/**", ...exclude],
    isolate: false,
    // No test may depend on those before it. The seed is printed at the start; --sequence.seed repeats its order.
    sequence: { shuffle: { tests: isShuffled } },
    setupFiles: process.env.ASHLAR_TEST_TIMES === undefined ? [sharedWorker] : [cpuProfile, sharedWorker],
    // The set-up lets Node load generated applications, with the framework that the tests have.
    server: { deps: { external: [/\/packages\/ashlar\/\.generated-/] } },
  },
});

const PROJECTS: TestProjectConfiguration[] = [
  shared("units", [UNITS]),
  shared("features", FEATURES),
  shared("databases", [DATABASES]),
  shared("product", TESTS, { exclude: [UNITS, ...FEATURES, DATABASES], isShuffled: false }),
];

const configuration: ViteUserConfig = defineConfig({
  resolve: {
    // Tests of generated applications import the framework by name; here that is its source.
    alias: [
      { find: /^ashlar$/, replacement: `${source}/public/index.ts` },
      { find: /^ashlar\/([a-z-]+)$/, replacement: `${source}/public/$1.ts` },
    ],
  },
  test: {
    // The tool that changes the sources runs every file in separate processes.
    ...(process.env.ASHLAR_MUTANTS === undefined
      ? { projects: PROJECTS, sequence: { sequencer: SlowestFirst, ...(process.env.CI && { seed: CI_SEED }) } }
      : { include: TESTS }),
    globalSetup: [runFolder],
    // Many tests wait for separate processes or for a database, so two more workers than processors keep the machine
    // busy.
    maxWorkers: availableParallelism() + 2,
    // What hangs is ended at some time. How late something comes proves nothing: a busy machine takes ten times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    reporters: report ? ["default", [countsReporter, { file: report }]] : ["default"],
  },
});

export default configuration;
