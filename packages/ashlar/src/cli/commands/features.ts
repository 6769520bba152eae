import { Command } from "commander";
import {
  type InstalledFeature,
  installedFeatures,
  languagesOf,
  loadProviders,
  readEnvironment,
} from "../../boot/index.ts";
import { AshlarError, counted, suggestion } from "../../support/index.ts";
import type { Terminal } from "../terminal.ts";
import { type Addition, additionsOf } from "./described-feature.ts";

/** The widths of the column with the parts' names, and of a whole line. */
const [PART_WIDTH, WIDTH] = [16, 110];

/**
 * `features`: shows what the features of an application add. Only `config/providers.ts` is loaded, so it works for an
 * application that doesn't boot.
 */
export function featuresCommand(terminal: Terminal): Command {
  return new Command("features")
    .description("Shows what each feature of the application adds: limits, tables, events, commands and so on.")
    .argument("[names...]", "only these features, with all of their messages")
    .option("--json", "as JSON")
    .action(async (names: readonly string[], options: { json?: true }) => {
      const all = installedFeatures(await loadProviders(terminal.root, readEnvironment(terminal.root)));
      const unknown = names.find((name) => !all.some(({ feature }) => feature.name === name));
      if (unknown !== undefined) {
        const known = all.map(({ feature }) => feature.name);
        throw new AshlarError("E_COMMAND", `No feature is named "${unknown}". ${suggestion(unknown, known)}`.trim());
      }
      const shown = all.filter(({ feature }) => names.length === 0 || names.includes(feature.name));
      if (options.json) terminal.print(JSON.stringify(shown.map(asJson), null, 2));
      else for (const [index, one] of shown.entries()) print(terminal, one, index > 0, names.length > 0);
    });
}

function asJson({ feature, provider }: InstalledFeature): object {
  const includes = (feature.includes ?? []).map(({ name }) => name);
  const parts = Object.fromEntries(additionsOf(feature));
  return { name: feature.name, provider, includes, languages: languagesOf(feature), ...parts };
}

function print(terminal: Terminal, { feature, provider }: InstalledFeature, isNext: boolean, isAlone: boolean): void {
  if (isNext) terminal.print();
  const includes = (feature.includes ?? []).map(({ name }) => name);
  const on = includes.length === 0 ? "" : `, on ${includes.join(", ")}`;
  terminal.print(`${feature.name} (${provider}${on})`);
  for (const [part, additions] of additionsOf(feature)) {
    const lines = part === "messages" && !isAlone ? [messagesLine(feature, additions.length)] : linesOf(additions);
    for (const [index, line] of lines.entries()) {
      terminal.print(`  ${(index === 0 ? titleOf(part) : "").padEnd(PART_WIDTH)}${line}`);
    }
  }
}

function messagesLine(feature: InstalledFeature["feature"], count: number): string {
  const languages = languagesOf(feature);
  return `${counted(count, "sentence")}, in ${["en", ...languages].join(", ")}`;
}

/** One line for each item if any of them has a description; otherwise, as many items per line as fit. */
function linesOf(additions: readonly Addition[]): readonly string[] {
  if (additions.some(({ note }) => note !== null && note !== "audit line" && note !== "secret")) {
    return additions.map(({ name, note }) => (note === null ? name : `${name}: ${note}`));
  }
  const lines: string[] = [];
  for (const { name, note } of additions) {
    const text = note === null ? name : `${name} (${note})`;
    const last = lines.at(-1);
    if (last === undefined || last.length + text.length + 2 > WIDTH - PART_WIDTH) lines.push(text);
    else lines[lines.length - 1] = `${last}, ${text}`;
  }
  return lines;
}

/** A part's name as words: `key purposes` for `keyPurposes`. */
function titleOf(part: string): string {
  return part.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
