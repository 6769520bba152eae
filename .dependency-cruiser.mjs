// The floors of packages/ashlar/src: a folder may import what stands on a floor below its own, and of its neighbours
// (and of the floors below) only their face, index.ts. ARCHITECTURE.md draws the house.
const floors = [
  ["support"],
  ["security"],
  ["http"],
  ["routing"],
  ["foundation"],
  ["events", "database", "views", "session", "throttle", "mail"],
  ["auth"],
  ["api"],
  ["scaffold", "testing"],
  ["cli"],
];

const source = "^packages/ashlar/src/";
const tests = "\\.test\\.ts$";
const folder = (names) => `${source}(?:${names.join("|")})/`;

const noImportUpward = floors.slice(0, -1).map((names, floor) => ({
  name: `no-import-upward-from-${names.join("-")}`,
  comment: "A floor imports only from floors below it.",
  severity: "error",
  from: { path: folder(names), pathNot: tests },
  to: { path: `${folder(floors.slice(floor + 1).flat())}|${source}index\\.ts$` },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...noImportUpward,
    {
      name: "only-faces",
      comment:
        "Another folder is imported through its index.ts. The one exception is foundation/, whose types features augment.",
      severity: "error",
      from: { path: `${source}([^/]+)/`, pathNot: tests },
      to: { path: `${source}(?!$1/)[^/]+/`, pathNot: `${source}[^/]+/index\\.ts$|${source}security/[^/]+/index\\.ts$` },
    },
    {
      name: "no-cycle",
      comment: "No file needs itself at run time.",
      severity: "error",
      from: { path: source },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-dev-dependency",
      comment: "What is published imports only what is installed with it.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: tests },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
        pathNot: "node_modules/(pg|mysql2)/",
      },
    },
    {
      name: "resolvable",
      comment: "Every import leads somewhere.",
      severity: "error",
      from: { path: "^packages/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Tests that were killed leave the applications that they generated.
    exclude: { path: "/dist/|/test/|/\\.generated-|\\.test\\.ts$" },
    parser: "swc",
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: false,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
