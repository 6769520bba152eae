import { join } from "node:path";
import { AshlarError, packageVersion } from "../../support/index.ts";
import { Code } from "../edits/code.ts";
import { readIfThere } from "../files/existing-files.ts";
import { type NewFile, replaceFile, writeNewFile } from "../files/files.ts";
import type { RemainingStep } from "../install/steps.ts";
import { CHANGES } from "./changes.ts";
import { GeneratedFiles } from "./generated-files.ts";
import { replaceGenerated } from "./replace-generated.ts";
import { tableMigrations } from "./table-migrations.ts";
import { WorkingCopy } from "./working-copy.ts";

/** A file to be written by an upgrade. */
export interface UpgradedFile extends NewFile {
  /** The current content; `null` if there is no file. */
  readonly before: string | null;
}

/** A place that the author should check. */
export interface UpgradeNote {
  /** The file in the application, with the line if it is known: `config/auth.ts:12`. */
  readonly place: string;
  readonly text: string;
}

/** The changes of an upgrade to this version. */
export interface Upgrade {
  /** The files to write, including migrations. */
  readonly files: readonly UpgradedFile[];
  /**
   * The files that show that an earlier version created the application: their code uses something that has changed, an
   * earlier version generated them, or they are migrations for tables in an earlier form. The other files are missing
   * parts.
   */
  readonly outdated: readonly string[];
  /** The names of the changes that affect the application's own code. */
  readonly changes: readonly string[];
  /** Generated files that this version no longer generates. */
  readonly leftovers: readonly UpgradeNote[];
  /** Generated files that both the author and this version have changed. */
  readonly own: readonly string[];
  /** The steps that would require changes to the author's own lines. */
  readonly remaining: readonly RemainingStep[];
  /** The places to check. */
  readonly notes: readonly UpgradeNote[];
}

/**
 * Plans the upgrade of an application to this version, without writing anything. It is based on the application's
 * files, because version numbers don't show which changes the author has made by hand.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application in the folder, or one of its files can't be parsed
 */
export async function planUpgrade(root: string): Promise<Upgrade> {
  const generated = await GeneratedFiles.read();
  const version = await packageVersion();
  return await WorkingCopy.of(root, async (copy) => {
    const had = await copy.texts();
    requireApplication(root, had);
    await requireCode(had);
    const notes: UpgradeNote[] = [];
    const outdated = new Set<string>();
    const changes = await changeCode(copy.root, had, version, { notes, outdated });
    const own: string[] = [];
    const remaining = await replaceGenerated(copy.root, generated, had, { own, outdated });
    const migrations = new Map([...had].filter(([path]) => path.startsWith("database/migrations/")));
    for (const file of await tableMigrations(copy.root, migrations)) {
      await writeNewFile(copy.root, file);
      outdated.add(file.path);
    }
    const texts = await copy.texts();
    const files = [...texts]
      .filter(([path, text]) => text !== had.get(path))
      .map(([path, text]) => ({ path, text, before: had.get(path) ?? null }));
    const leftovers = await leftoversIn(texts, generated, copy.root);
    return { files, outdated: [...outdated].sort(), changes, leftovers, own, remaining, notes };
  });
}

/** Writes a planned upgrade. */
export async function writeUpgrade(root: string, { files }: Upgrade): Promise<void> {
  for (const { path, text, before } of files) {
    if (before === null) await writeNewFile(root, { path, text });
    else await replaceFile(join(root, path), text);
  }
}

/** @throws `E_COMMAND` unless there is an application */
function requireApplication(root: string, texts: ReadonlyMap<string, string>): void {
  if (texts.has("app.ts") || texts.has("app.js")) return;
  throw new AshlarError("E_COMMAND", `There is no app.ts in ${root}. Run the command in the application's folder.`);
}

/** The files of an application that use the framework, unlike scripts for browsers. */
const OWN_CODE = /^(?:app\.[jt]s|(?:app|config|routes|database|lang|tests)\/.+\.[jt]s)$/;

/**
 * Code that can't be parsed can't be upgraded, and it's unknown whether it lacks something.
 *
 * @throws `E_COMMAND` with every such file
 */
async function requireCode(texts: ReadonlyMap<string, string>): Promise<void> {
  const problems: string[] = [];
  for (const [path, text] of texts) {
    if (!OWN_CODE.test(path)) continue;
    await Code.of(text, path).catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error;
      const { loc } = error as { readonly loc?: { readonly line: number } };
      problems.push(`${path}:${loc?.line ?? 1}: ${error.message.replace(/ \(\d+:\d+\)$/, "")}`);
    });
  }
  if (problems.length === 0) return;
  throw new AshlarError("E_COMMAND", `Correct this first, since it can't be read as code:\n${problems.join("\n")}`);
}

/** Makes the changes to the application's own code. */
async function changeCode(
  root: string,
  texts: ReadonlyMap<string, string>,
  version: string,
  { notes, outdated }: { readonly notes: UpgradeNote[]; readonly outdated: Set<string> },
): Promise<string[]> {
  const made = new Set<string>();
  for (const [path, before] of texts) {
    let text = path === "package.json" ? await withVersion(before, version) : before;
    for (const { name, files, sign, edit } of CHANGES) {
      if (!files.test(path) || !text.includes(sign)) continue;
      const changed = await edited(text, path, edit);
      if (changed === null) {
        const line = text.slice(0, text.indexOf(sign)).split("\n").length;
        notes.push({ place: `${path}:${line}`, text: `${name}. The code has a form that can't be changed safely.` });
      } else if (changed !== text) {
        text = changed;
        made.add(name);
        outdated.add(path);
      }
    }
    if (text !== before) await replaceFile(join(root, path), text);
  }
  return CHANGES.map(({ name }) => name).filter((name) => made.has(name));
}

/** The text with an edit; `null` if it can't be made. */
async function edited(text: string, path: string, edit: (code: Code) => Code | null): Promise<string | null> {
  try {
    return edit(await Code.of(text, path))?.text ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function withVersion(text: string, version: string): Promise<string> {
  // Loaded here, because `ashlar serve` creates every command, and it needs semver.
  const { requiringVersion } = await import("./package-version.ts");
  // Parsed as an expression, JSON is edited like code, which preserves its formatting.
  const changed = await edited(`(${text}\n)`, "package.json", requiringVersion(version));
  return changed === null ? text : changed.slice(1, -2);
}

/** Files that an earlier version generated and this one doesn't, if nothing in the application names them anymore. */
async function leftoversIn(
  texts: ReadonlyMap<string, string>,
  generated: GeneratedFiles,
  root: string,
): Promise<UpgradeNote[]> {
  const notes: UpgradeNote[] = [];
  for (const path of generated.formerPaths) {
    const text = await readIfThere(root, path);
    if (text === null) continue;
    const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
    const user = [...texts].find(
      ([other, code]) => other !== path && /\.(?:ts|js|edge)$/.test(other) && names(code, name),
    );
    const isUnchanged = generated.isUnchanged(path, text);
    notes.push({
      place: path,
      text:
        user === undefined
          ? `is no longer generated, and nothing names it${isUnchanged ? "" : ", but you have changed it"}. Delete it.`
          : `is no longer generated, but ${user[0]} names it.`,
    });
  }
  return notes;
}

function names(code: string, name: string): boolean {
  return new RegExp(`[/"'\`]${name}(?:\\.\\w+)?["'\`]`).test(code);
}
