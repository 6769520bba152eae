import type { Outcome, Row, Scenario } from "./scenario.ts";

/**
 * Replaces a scenario's results in the text of `docs/operations.md`: the part between two comments with the scenario's
 * name.
 *
 * @param date the day of the run, as `2026-11-25`
 */
export function withResults(
  page: string,
  scenario: Pick<Scenario, "name" | "title" | "about">,
  outcome: Pick<Outcome, "versions" | "rows">,
  date: string,
): string {
  const [begin, end] = ["begin", "end"].map((what) => `<!-- ${what} ${scenario.name} -->`) as [string, string];
  const part = `${begin}\n\n${section(scenario, outcome, date)}\n\n${end}`;
  const from = page.indexOf(begin);
  if (from === -1) return `${page.trimEnd()}\n\n${part}\n`;
  return page.slice(0, from) + part + page.slice(page.indexOf(end) + end.length);
}

function section(
  { title, about }: Pick<Scenario, "title" | "about">,
  { versions, rows }: Pick<Outcome, "versions" | "rows">,
  date: string,
): string {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [`## ${title}`, wrapped(about), table(rows), wrapped(`Run on ${date} with ${programs.join(", ")}.`)].join(
    "\n\n",
  );
}

function table(rows: readonly Row[]): string {
  const titles = Object.keys(rows[0] ?? {});
  const line = (cells: readonly (string | number)[]): string => `| ${cells.map(cell).join(" | ")} |`;
  const marks = titles.map((title) => (typeof rows[0]![title] === "number" ? "--:" : "---"));
  return [
    line(titles),
    `|${marks.join("|")}|`,
    ...rows.map((row) => line(titles.map((title) => row[title] ?? ""))),
  ].join("\n");
}

const cell = (value: string | number): string =>
  typeof value === "number" ? value.toLocaleString("en-US") : value.replaceAll("|", "\\|");

const WIDTH = 120;

function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1)!;
    if (last !== "" && last.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.join("\n");
}
