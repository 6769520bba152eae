// Checks which private names these features import from the framework's other folders, although a package couldn't. The framework's
// features should use only what a package's feature can use. Two kinds are fine: helpers that a package would write itself,
// and types that it can name in another way. All others have yet to be replaced or moved: that list only shrinks.

import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { importsIn, takenFromOthers } from "./private-names/imports.ts";

const source = join(import.meta.dirname, "../packages/ashlar/src");

/** The folders of features that a package could have written. */
const FEATURES: readonly string[] = ["api", "authenticators", "two-factor"];

/** Helpers and constants without state, and without access to other features: a package would write them in a few lines. */
const HELPERS: readonly string[] = [
  ...["auth: amrOf", "auth: DEFAULT_MAX_PER_USER", "auth: hasExpired", "auth: MAX_PER_USER"],
  ...["messages: MessageMaker", "messages: messagesOf"],
  ...["security/jwt: PAIR_ALGORITHMS", "security/jwt: unverifiedHeader"],
  ...[
    ...["counted", "currentDate", "derived", "isLoopbackAddress", "isPlainObject", "isSpeltAlike", "isThenable", "now"],
    ...[
      "nowInSeconds",
      "Optional",
      "readPem",
      "REPEAT_PERIOD_SECONDS",
      "REPEAT_SECONDS",
      "repeatPeriodOf",
      "suggestion",
    ],
    ...["unknownSetting", "withoutBrackets"],
  ].map((name) => `support: ${name}`),
];

/** Types that a package names in another way. */
const TYPES: Readonly<Record<string, string>> = {
  "auth: SecurityEvent": 'Pick<EventMap["auth.logout"], "time" | "address" | "guard">',
  "auth: UserClass": 'NonNullable<AuthenticatableClass["userClass"]>',
  "boot: FeatureCommand": 'NonNullable<Feature["commands"]>[number]',
  "routing: CompiledRoute": 'Router["routes"][number]',
  "routing: ControllerClass": "new (services: never) => Controller",
  "security/jwt: JwtFailure": 'JwtError["reason"]',
  "security/jwt: JwtVerifyOptions": "Parameters<typeof verifyJwt>[2]",
  "security/jwt: KeyMaterial": "ConstructorParameters<typeof SigningKey>[1]",
  "throttle: ByLimit": "{ readonly [Name in keyof Limits]?: Value }",
  "throttle: LimitDeclaration": 'NonNullable<Feature["limits"]>[string]',
  "throttle: LimitName": "keyof Limits",
};

/** The remaining names. None may be added. */
const LEFT: Readonly<Record<string, readonly string[]>> = {
  auth: [
    "AUTHENTICATION",
    "AccessConditions",
    "AccessHolder",
    "LoginPendingError",
    "authSettingsOf",
    "deviceName",
    "endAccessWithFeatures",
    "endsWithRowBy",
    "holdsAccess",
    "isAuthenticatableClass",
    "isBlocked",
    "isUserClassOf",
    "keepsSameRows",
    "refuseGuest",
    "requireEmailColumns",
    "requireGuards",
    "requireHashing",
    "staleProof",
    "userClassOf",
    "writeColumns",
  ],
  database: ["applicationOf", "claimModel", "tableHasColumn"],
  http: ["hasBody", "requestSearch"],
  messages: [],
  "security/jwks": ["RemoteKeys"],
  "security/jwt": [],
  security: ["KEY_SETTINGS", "RotatingKeys", "createKeys", "deriveKey", "requireSecretOf"],
  support: ["SetupProblems"],
};

const text = (path: string): Promise<string> => readFile(join(source, path), "utf8");

const problems: string[] = [];
const isPublic = new Set<string>();
for (const path of globSync("public/*.ts", { cwd: source })) {
  for (const name of importsIn(await text(path)).flatMap(({ names }) => names)) {
    if (name === "*") problems.push(`${path} exports a whole module. List the names that are public.`);
    else isPublic.add(name);
  }
}

/** The files that take each name from another folder, by folder and name. */
const taken = new Map<string, string[]>();
for (const feature of FEATURES) {
  for (const path of globSync(`${feature}/**/*.ts`, { cwd: source }).sort()) {
    if (path.endsWith(".test.ts")) continue;
    for (const key of takenFromOthers(path, await text(path))) taken.set(key, [...(taken.get(key) ?? []), path]);
  }
}

const fine = new Set([...HELPERS, ...Object.keys(TYPES)]);
const left = new Set(Object.entries(LEFT).flatMap(([folder, names]) => names.map((name) => `${folder}: ${name}`)));
const privates = [...taken].filter(([key]) => !isPublic.has(key.split(": ")[1]!));
problems.push(
  ...privates
    .filter(([key]) => !fine.has(key) && !left.has(key))
    .map(([key, files]) => `${files.join(", ")} takes ${key}, which is not public: no package could write it.`),
  ...[...fine, ...left]
    .filter((key) => !privates.some(([one]) => one === key))
    .map((key) => `${key} is not taken anymore, or is public. Remove it from scripts/private-names.ts.`),
);
for (const problem of problems) console.error(problem);
console.log(`${taken.size} names from other folders, ${privates.length} of them private: ${left.size} are left`);
process.exitCode = problems.length === 0 ? 0 : 1;
