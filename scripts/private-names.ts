// Checks which private names features import from the framework's other folders, although a package couldn't. The framework's
// features use only what a package's feature can use. Two kinds are fine: helpers that a package would write itself, and types
// that it can name in another way.

import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { importsIn, takenFromOthers } from "./private-names/imports.ts";

const source = join(import.meta.dirname, "../packages/ashlar/src");

/** The folders of features that a package could have written. */
const FEATURES: readonly string[] = ["api", "authenticators", "two-factor", "passkeys", "login-links"];

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
  "authenticators: AuthenticatorTable": 'ReturnType<Services["authenticators"]["table"]>',
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

const text = (path: string): Promise<string> => readFile(join(source, path), "utf8");

const problems: string[] = [];
/** The public names, by whether a package can only name them as types. */
const publicNames = new Map<string, { readonly isType: boolean }>();
for (const path of globSync("public/*.ts", { cwd: source })) {
  for (const { names, types } of importsIn(await text(path))) {
    for (const name of names) {
      if (name === "*") problems.push(`${path} exports a whole module. List the names that are public.`);
      else publicNames.set(name, { isType: types.includes(name) });
    }
  }
}

/** The files that take each name from another folder, by folder and name; and whether it is public. */
const taken = new Map<string, { readonly files: Set<string>; isPublic: boolean }>();
for (const feature of FEATURES) {
  for (const path of globSync(`${feature}/**/*.ts`, { cwd: source }).sort()) {
    if (path.endsWith(".test.ts")) continue;
    for (const { key, name, isType } of takenFromOthers(path, await text(path))) {
      const one = taken.get(key) ?? { files: new Set(), isPublic: true };
      const found = publicNames.get(name);
      if (found === undefined || (found.isType && !isType)) one.isPublic = false;
      one.files.add(path);
      taken.set(key, one);
    }
  }
}

const fine = new Set([...HELPERS, ...Object.keys(TYPES)]);
const privates = [...taken].filter(([, { isPublic }]) => !isPublic);
const left = privates.filter(([key]) => !fine.has(key));
problems.push(
  ...left.map(
    ([key, { files }]) => `${[...files].join(", ")} takes ${key}, which is not public: no package could write it.`,
  ),
  ...[...fine]
    .filter((key) => !privates.some(([one]) => one === key))
    .map((key) => `${key} is not taken anymore, or is public. Remove it from scripts/private-names.ts.`),
);
for (const problem of problems) console.error(problem);
console.log(
  `${taken.size} names from other folders, ${privates.length} of them helpers or types, ${left.length} others`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
