// The reference of the commands lists what the commands themselves say in their help.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { main } from "../../../../create-ashlar/src/main.ts";
import { ApiProvider } from "../../../src/api/index.ts";
import { AuthProvider } from "../../../src/auth/index.ts";
import { MailProvider } from "../../../src/mail/index.ts";
import { ashlar } from "../../support/command-line.ts";
import { codeOf, pageTables } from "../../support/page-tables.ts";
import { REPOSITORY } from "../../support/samples.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PAGE = "docs/reference/commands.md";
/** The options of every command, which the page lists once. */
const EVERYWHERE = ["-h, --help"];

/** A command's own description. */
interface Help {
  readonly description: string;
  /** Its arguments and options. */
  readonly terms: readonly string[];
}

function helpOf(output: string): Help {
  const [usage = "", description = "", ...sections] = output.split("\n\n");
  const terms = sections.flatMap((section) => {
    const [title = "", ...lines] = section.split("\n");
    // Options may be in groups with separate headings.
    if (/^(?:Usage|Commands|Examples):/.test(title)) return [];
    const isArgument = title === "Arguments:";
    return lines.flatMap((line) => {
      const [, term] = /^ {2}(\S.*?)(?: {2,}|$)/.exec(line) ?? [];
      if (term === undefined || EVERYWHERE.includes(term)) return [];
      // The usage tells a required argument from an optional one.
      return [isArgument && usage.includes(`<${term}>`) ? `<${term}>` : term];
    });
  });
  return { description: description.replaceAll("\n", " "), terms };
}

/** The help of each command, by its name as the page has it. */
async function allHelp(): Promise<Map<string, Help>> {
  const folder = await temporaryFolder();
  const { output } = await ashlar(folder, "--help");
  const [, list = ""] = output.split("Commands:\n");
  const names = [...list.matchAll(/^ {2}([a-z][a-z:-]*)/gm)].map(([, name]) => name!);
  const found = new Map<string, Help>();
  for (const name of names.filter((one) => one !== "help")) {
    found.set(`ashlar ${name}`, helpOf((await ashlar(folder, name, "--help")).output));
  }
  found.set("create-ashlar", helpOf(await createHelp()));
  return found;
}

async function createHelp(): Promise<string> {
  const written: string[] = [];
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
  try {
    expect(await main(["--help"])).toBe(0);
  } finally {
    spy.mockRestore();
  }
  return written.join("").trimEnd();
}

/** The headings of the commands, each with the paragraph after it. */
async function described(): Promise<Map<string, string>> {
  const text = await readFile(join(REPOSITORY, PAGE), "utf8");
  const headings = text.matchAll(/^## ((?:create-)?ashlar(?: \S+)?)\n\n(.+)$/gm);
  return new Map([...headings].map(([, name, first]) => [name!, first!]));
}

test("the page has each command, with its own description, and no other", async () => {
  const help = await allHelp();
  expect(Object.fromEntries(await described())).toEqual(
    Object.fromEntries([...help].map(([name, { description }]) => [name, description])),
  );
  expect(help.size).toBeGreaterThan(16);
});

test("each command is listed with exactly its arguments and options", async () => {
  const tables = (await pageTables(PAGE)).filter(({ columns }) => columns[0] === "Option");
  const listed = new Map(tables.map(({ heading, rows }) => [heading, rows.map(({ Option = "" }) => codeOf(Option)!)]));
  for (const [name, { terms }] of await allHelp()) {
    expect([name, (listed.get(name) ?? []).toSorted()]).toEqual([name, [...terms].toSorted()]);
  }
});

test("the commands for users, mail and personal tokens are listed with their own descriptions", async () => {
  const tables = (await pageTables(PAGE)).filter(({ columns }) => columns[0] === "Command");
  const listed = tables.map(({ rows }) => rows.map((row) => [codeOf(row.Command!), row["What it does"]]));
  const all = [AuthProvider, MailProvider, ApiProvider].map(({ feature }) =>
    feature.commands!.map(({ name, description }) => [name, description]),
  );
  expect(listed).toEqual(all);
});
