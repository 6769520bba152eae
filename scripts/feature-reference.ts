// Writes the features' declarations into the manual: docs/reference/features.md, and table columns elsewhere that repeat a
// manifest. `--write` updates them; without `--write`, an outdated file is an error. A name that is missing from a table
// is an error in either case, and so is a missing table: then nothing is written. Runs in the repository's root.

import { readFile, writeFile } from "node:fs/promises";
import { type Feature, installedFeatures } from "../packages/ashlar/src/boot/index.ts";
import { additionsOf } from "../packages/ashlar/src/cli/commands/described-feature.ts";
import { FRAMEWORK_FEATURES, FRAMEWORK_PROVIDERS } from "../packages/ashlar/test/support/framework-features.ts";

const problems: string[] = [];

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

/** The pages, each with a function that returns its new text. */
const PAGES: Readonly<Record<string, (text: string) => string>> = {
  "docs/reference/features.md": featuresPage,
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
