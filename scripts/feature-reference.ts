// Writes the features' declarations into the manual: docs/reference/features.md, docs/reference/doors.md, and table columns elsewhere that repeat a
// manifest. `--write` updates them; without `--write`, an outdated file is an error. A name that is missing from a table
// is an error in either case, and so is a missing table: then nothing is written. Runs in the repository's root.

import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Feature, installedFeatures } from "../packages/ashlar/src/boot/index.ts";
import { additionsOf } from "../packages/ashlar/src/cli/commands/described-feature.ts";
import type { DoorTable } from "../packages/ashlar/test/doors/door-table.ts";
import { FRAMEWORK_FEATURES, FRAMEWORK_PROVIDERS } from "../packages/ashlar/test/support/framework-features.ts";

const problems: string[] = [];

/** The expected answers of all doors. */
const DOOR_TABLE = "packages/ashlar/test/doors/answers.json";
const REPOSITORY = join(import.meta.dirname, "..");

/** The parts that the page lists, each with the word for one entry. Features' sentences are in their `messages.ts`. */
const PARTS: Readonly<Record<string, string>> = {
  services: "Service",
  context: "Property of the context",
  routes: "Function for routes",
  limits: "Limit",
  proofs: "Proof",
  events: "Event",
  accountMails: "Mail",
  tables: "Table",
  variables: "Variable",
  keyPurposes: "Key purpose",
  errors: "Error code",
  commands: "Command",
  checks: "Check of the doctor",
  views: "Folder of templates",
  userData: "Data about users",
};

/** Text for a table cell, in which URLs don't become links. */
const cell = (text: string): string =>
  text
    .replaceAll("|", "\\|")
    .replaceAll(/[<>]/g, (sign) => `\\${sign}`)
    .replaceAll(/https?:\/\/[\w.:/-]*\w/g, "`$&`");

/** The providers that each bring a feature. */
function providersOf(feature: Feature): string[] {
  return FRAMEWORK_PROVIDERS.filter((one) =>
    installedFeatures([one]).some((installed) => installed.feature === feature),
  ).map(({ name }) => `\`${name}\``);
}

function featuresPage(): string {
  const sections = FRAMEWORK_FEATURES.map(({ feature }) => {
    const on = (feature.includes ?? []).map(({ name }) => `\`${name}\``).join(", ");
    const additions = additionsOf(feature);
    const tables = Object.entries(PARTS).flatMap(([part, title]) => {
      const names = additions.get(part) ?? [];
      if (names.length === 0) return [];
      if (names.every(({ note }) => note === null)) {
        return [`| ${title} |\n|---|\n${names.map(({ name }) => `| \`${name}\` |`).join("\n")}\n`];
      }
      const rows = names.map(({ name, note }) => `| \`${name}\` | ${cell(note ?? "")} |`);
      return [`| ${title} | |\n|---|---|\n${rows.join("\n")}\n`];
    });
    const intro = `By ${providersOf(feature).join(" or ")}${on === "" ? "" : `, on ${on}`}.`;
    return [`## \`${feature.name}\`\n`, `${intro}\n`, ...tables].join("\n");
  });
  return `---
description: Everything that each feature of the framework adds, as its manifest declares it.
---

# Features of the framework

What each feature adds, from the value that the boot, \`ashlar doctor\` and \`npx ashlar features\` read. The latter also shows the
features of your application, and their sentences. How to write one is in [Features](../guides/features.md).

${sections.join("\n")}`;
}

/** \`300\` seconds as \`5 min\`. */
function spanOf(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** Every limit of the framework, by name, with its buckets in the guide's notation. */
const LIMITS: ReadonlyMap<string, string> = new Map(
  FRAMEWORK_FEATURES.flatMap(({ feature }) => Object.entries(feature.limits ?? {})).map(([name, { buckets }]) => [
    name,
    buckets
      .map(({ attempts, windowSeconds, by }) => `${attempts} per ${spanOf(windowSeconds)} by ${by.join(" and ")}`)
      .join(" · "),
  ]),
);

const EVENTS: ReadonlySet<string> = new Set(
  FRAMEWORK_FEATURES.flatMap(({ feature }) => Object.keys(feature.events ?? {})),
);

const MAILS: ReadonlySet<string> = new Set(
  FRAMEWORK_FEATURES.flatMap(({ feature }) => Object.keys(feature.accountMails ?? {})),
);

/** The providers that add a property to the context, as the reference lists them. */
function addedBy(property: string): string | null {
  const declaring = FRAMEWORK_FEATURES.find(({ feature }) => Object.hasOwn(feature.context ?? {}, property));
  return declaring === undefined ? null : providersOf(declaring.feature).join(", ");
}

/** The names in the first cells of rows. */
const firstCells = (rows: string): string[] => [...rows.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name!);

/** The rows of the tables whose first column has the given title, by the names in their first cells. */
function namesIn(text: string, title: string): string[] {
  const tables = text.matchAll(new RegExp(`^\\| ${title} \\|.*\\n\\|[-|]+\\|\\n((?:\\|.*\\n)+)`, "gm"));
  return [...tables].flatMap(([, rows = ""]) => firstCells(rows));
}

function requireNames(page: string, what: string, found: readonly string[], declared: Iterable<string>): void {
  const all = [...declared];
  for (const name of all) if (!found.includes(name)) problems.push(`${page} lacks the ${what} ${name}.`);
  for (const name of found)
    if (!all.includes(name)) problems.push(`${page} has the ${what} ${name}, which no feature declares.`);
}

/**
 * A page with other rows in one of its tables. A missing table is a problem.
 *
 * @param head how the table's head begins: `| Limit | Account |`
 */
function withRows(page: string, text: string, head: string, change: (rows: string) => string): string {
  const start = text.indexOf(`\n${head}`) + 1;
  const [table, above = "", rows = ""] =
    start === 0 ? [] : (/^(\|.*\n\|[-|]+\|\n)((?:\|.*\n)+)/.exec(text.slice(start)) ?? []);
  if (table !== undefined) return text.slice(0, start) + above + change(rows) + text.slice(start + table.length);
  problems.push(`${page} has no table that begins with ${head}`);
  return text;
}

/** The guide about limits, with each limit's buckets in the last column of the table of defaults. */
function limitsGuide(text: string): string {
  const page = "docs/guides/limits.md";
  return withRows(page, text, "| Limit | Account | Buckets", (rows) => {
    requireNames(page, "limit", firstCells(rows), LIMITS.keys());
    return rows.replaceAll(/^\| `([^`]+)` \| (.+?) \|.*\|$/gm, (row, name: string, account: string) => {
      return LIMITS.has(name) ? `| \`${name}\` | ${account} | ${LIMITS.get(name)} |` : row;
    });
  });
}

/** The reference of names, with the providers that add each property. The meanings of the names are written there by hand. */
function eventsPage(text: string): string {
  const page = "docs/reference/events.md";
  requireNames(page, "event", namesIn(text, "Event"), EVENTS);
  requireNames(page, "limit", namesIn(text, "Limit"), LIMITS.keys());
  requireNames(page, "mail", namesIn(text, "Mail"), MAILS);
  return withRows(page, text, "| Property | Type | Added by |", (rows) =>
    rows.replaceAll(/^\| `(\w+)` \| (.+?) \| (.+?) \|$/gm, (_, name: string, type: string, by: string) => {
      return `| \`${name}\` | ${type} | ${addedBy(name) ?? by} |`;
    }),
  );
}

/** What a cell of the table of doors says first. */
const ACCESS: Readonly<Record<string, string>> = {
  out: "The visitor can open nothing that needs a user.",
  in: "The visitor is logged in.",
  fresh: "The visitor is logged in, and `password.confirm` lets them through.",
  token: "The visitor has an API token that opens a route.",
  changed: "The address or the password of the account has changed, or waits for a link.",
};

/** Every way through every door, with the answer for an account in each state. */
function doorsPage(): string {
  const { rows, states } = JSON.parse(readFileSync(join(REPOSITORY, DOOR_TABLE), "utf8")) as DoorTable;
  const declared = FRAMEWORK_FEATURES.flatMap(({ feature }) => Object.entries(feature.doors ?? {}));
  for (const [name] of declared) {
    if (Object.values(rows).every(({ door }) => door !== name)) problems.push(`${DOOR_TABLE} lacks the door ${name}.`);
  }
  const sections = declared.map(([name, { about }]) => {
    const own = Object.entries(rows).filter(([, { door }]) => door === name);
    const tables = own.map(([row, { about: way, answers }]) => {
      const byAnswer = Object.groupBy(Object.keys(answers), (state) => answers[state]!);
      const lines = Object.entries(byAnswer).map(([answer, those = []]) => {
        const [access = ""] = answer.split(": ", 1);
        return `| ${access} | ${cell(answer.slice(access.length + 2))} | ${those.join(", ")} |`;
      });
      return `### ${row}\n\n${way}\n\n| access | response | states |\n|---|---|---|\n${lines.join("\n")}\n`;
    });
    return `## \`${name}\`\n\n${about}\n\n${tables.join("\n")}`;
  });
  const meanings = Object.entries(states).map(([state, { meaning }]) => `- **${state}**: ${meaning}`);
  const words = Object.entries(ACCESS).map(([word, meaning]) => `- **${word}**: ${meaning}`);
  return `---
description: Every way into an account, tried with an account in every state, and the response.
---

# Doors

Every way to log in, to get an API token, or to be recognized, and what happens if someone tries it with an account in each of these
states. A test tries all of them in a generated application with \`api:install --many\`, \`auth --two-factor\`, \`auth --passkeys\`,
\`auth --login-links\` and \`tokens:install\`: on SQLite, PostgreSQL and MariaDB, with sessions in cookies and in Redis, and with one
process and two. Each feature declares its doors, and the test fails if one of them, a login step, a kind of authenticator or a state is
missing here. To test the doors of your own application, see [Testing](../guides/testing.md).

${meanings.join("\n")}

The settings are those that the commands write, but newcomers can register by mail, users can trust a device for 30 days, and some users need a second factor and have
three days to set one up.

After each try, the test opens every page and route that needs a user, with the cookies that the visitor has, and with each text of
the response that could be a token:

${words.join("\n")}

The response is the page that a redirect (→) leads to, or the status, with the code of an error, and the step that the login waits for
with the ways to pass it.

${sections.join("\n")}`;
}

/** The pages, each with a function that returns its new text. */
const PAGES: Readonly<Record<string, (text: string) => string>> = {
  "docs/reference/features.md": featuresPage,
  "docs/reference/doors.md": doorsPage,
  "docs/reference/events.md": eventsPage,
  "docs/guides/limits.md": limitsGuide,
};

const isWriting = process.argv.includes("--write");
const outdated = new Map<string, string>();
for (const [page, written] of Object.entries(PAGES)) {
  const before = await readFile(page, "utf8").catch(() => "");
  const after = written(before);
  if (before !== after) outdated.set(page, after);
}
// A page with a problem isn't rewritten, nor are the others: what they repeat belongs together.
if (isWriting && problems.length === 0) for (const [page, text] of outdated) await writeFile(page, text);
if (!isWriting) {
  for (const page of outdated.keys())
    problems.push(`${page} is out of date. Run node scripts/feature-reference.ts --write`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
