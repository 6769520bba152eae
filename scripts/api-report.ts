// Checks packages/ashlar/api-report: what the package exports, one file per import path, each name with its declaration
// but without comments, so that changes show in a diff; a class is followed by its base class, if that isn't exported. It
// reads dist. `--write` updates the files; without `--write`, an outdated file is an error. A name with two import paths is
// always an error, and so is a number of names that differs from the one in ARCHITECTURE.md.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Comment, type ExportNamedDeclaration, type ParseResult, parseSync, type Statement } from "oxc-parser";

const packageFolder = join(import.meta.dirname, "../packages/ashlar");
const reportFolder = join(packageFolder, "api-report");

interface Entry {
  readonly types: string;
}

/** A declaration file's statements and text. */
class Declarations {
  static readonly #known = new Map<string, Declarations>();
  readonly path: string;
  readonly #source: string;
  readonly #parsed: ParseResult;

  private constructor(path: string) {
    this.path = path;
    this.#source = readFileSync(path, "utf8");
    this.#parsed = parseSync(path, this.#source);
    if (this.#parsed.errors.length > 0) throw new SyntaxError(`${path}: ${this.#parsed.errors[0]!.message}`);
  }

  static of(path: string): Declarations {
    const known = Declarations.#known.get(path) ?? new Declarations(path);
    Declarations.#known.set(path, known);
    return known;
  }

  /** The names that the file exports. */
  names(): string[] {
    return this.#exports().flatMap(({ specifiers }) => specifiers.map(({ exported }) => textOf(exported)));
  }

  /** Returns a name's declarations from any file, without comments, and those of unexported base classes. */
  declarationsOf(name: string, exported: ReadonlySet<string>): string {
    const own = this.#parsed.program.body.filter((statement) => declaredBy(statement) === name);
    if (own.length > 0) {
      const bases = own.flatMap((statement) => this.#basesOf(statement, exported));
      return [...own.map((statement) => this.#textOf(statement)), ...bases].join("\n");
    }
    for (const { source, specifiers } of this.#exports()) {
      const found = specifiers.find(({ exported }) => textOf(exported) === name);
      if (found === undefined) continue;
      if (source === null || !source.value.startsWith(".")) return `export { ${name} } from "${source?.value}";`;
      const file = join(dirname(this.path), source.value.replace(/\.ts$/, ".d.ts"));
      return Declarations.of(file).declarationsOf(textOf(found.local), exported);
    }
    throw new Error(`${this.path} does not export ${name}.`);
  }

  /** The declarations of a class's base class, unless the package exports that class or it comes from another package. */
  #basesOf(statement: Statement, exported: ReadonlySet<string>): string[] {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : null;
    if (declared?.type !== "ClassDeclaration" || declared.superClass?.type !== "Identifier") return [];
    const { name } = declared.superClass;
    if (exported.has(name)) return [];
    for (const imported of this.#parsed.program.body) {
      if (imported.type !== "ImportDeclaration" || !imported.source.value.startsWith(".")) continue;
      if (!imported.specifiers.some(({ local }) => local.name === name)) continue;
      const file = join(dirname(this.path), imported.source.value.replace(/\.ts$/, ".d.ts"));
      return [Declarations.of(file).declarationsOf(name, exported)];
    }
    return [];
  }

  #exports(): ExportNamedDeclaration[] {
    return this.#parsed.program.body.filter((statement) => statement.type === "ExportNamedDeclaration");
  }

  #textOf({ start, end }: Statement): string {
    const within = (comment: Comment): boolean => comment.start >= start && comment.end <= end;
    let text = "";
    let from = start;
    for (const comment of this.#parsed.comments.filter(within)) {
      text += this.#source.slice(from, comment.start);
      from = comment.end;
    }
    return (text + this.#source.slice(from, end)).replaceAll(/^\s*\n/gm, "").replaceAll(/[ \t]+$/gm, "");
  }
}

function textOf(name: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return name.name ?? String(name.value);
}

/** The name that a statement declares and exports; `null` if it does neither. */
function declaredBy(statement: Statement): string | null {
  if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) return null;
  const { declaration } = statement;
  if (declaration.type === "VariableDeclaration") {
    const [{ id } = { id: null }] = declaration.declarations;
    return id?.type === "Identifier" ? id.name : null;
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? declaration.id.name : null;
}

const { exports } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, Entry | string>>;
};
const problems: string[] = [];
const reports = new Map<string, string>();
const paths = new Map<string, string>();
const found: { readonly declarations: Declarations; readonly from: string; readonly names: readonly string[] }[] = [];
for (const [path, entry] of Object.entries(exports)) {
  if (typeof entry === "string") continue;
  const declarations = Declarations.of(join(packageFolder, entry.types));
  const from = path.replace(/^\./, "ashlar");
  const names = declarations.names().sort();
  for (const name of names) {
    if (paths.has(name)) problems.push(`${name} is exported by ${paths.get(name)} and by ${from}.`);
    paths.set(name, from);
  }
  found.push({ declarations, from, names });
}
const exported = new Set(paths.keys());
for (const { declarations, from, names } of found) {
  const parts = names.map((name) => `${declarations.declarationsOf(name, exported)}\n`);
  reports.set(`${from.replace("/", "-")}.txt`, `${from}: ${names.length} names\n\n${parts.join("\n")}`);
}

const outdated = [...reports].filter(([file, text]) => {
  const path = join(reportFolder, file);
  return !existsSync(path) || readFileSync(path, "utf8") !== text;
});
const gone = (existsSync(reportFolder) ? readdirSync(reportFolder) : []).filter((file) => !reports.has(file));
if (process.argv.includes("--write")) {
  await mkdir(reportFolder, { recursive: true });
  for (const [file, text] of outdated) await writeFile(join(reportFolder, file), text);
  for (const file of gone) await rm(join(reportFolder, file));
} else {
  for (const file of [...outdated.map(([name]) => name), ...gone]) {
    problems.push(`packages/ashlar/api-report/${file} is out of date. Run npm run api-report -- --write`);
  }
}
const architecture = readFileSync(join(import.meta.dirname, "../ARCHITECTURE.md"), "utf8");
const [, documented] = /There are (\d+) public names/.exec(architecture) ?? [];
if (Number(documented) !== paths.size) {
  problems.push(`ARCHITECTURE.md says that there are ${documented} public names. There are ${paths.size}.`);
}
console.log(`${paths.size} public names`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
