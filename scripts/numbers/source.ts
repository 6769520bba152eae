import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Program, parseSync, type Statement, Visitor } from "oxc-parser";

/** A source file: its path, relative to the folder that was read, its text and its syntax tree. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly comments: readonly { readonly start: number; readonly end: number }[];
}

/** A class or an interface, and how many members it declares. */
export interface Members {
  readonly name: string;
  readonly path: string;
  readonly count: number;
}

/** An import, from one path to another. */
export type Arrow = readonly [from: string, to: string];

/** The TypeScript files of a folder, without tests. */
export function readSources(folder: string): SourceFile[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  const sources = paths.filter((path) => path.endsWith(".ts") && !/\.(?:test|d)\.ts$/.test(path)).sort();
  return sources.map((path) => parseSource(path, readFileSync(join(folder, path), "utf8")));
}

export function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]!.message}`);
  return { path, text, program, comments };
}

/** How many lines contain code, so are neither blank nor only a comment. */
export function linesOfCode({ text, comments }: SourceFile): number {
  let code = "";
  let from = 0;
  for (const { start, end } of comments) {
    code += text.slice(from, start) + text.slice(start, end).replaceAll(/[^\n]/g, "");
    from = end;
  }
  return (code + text.slice(from)).split("\n").filter((line) => line.trim() !== "").length;
}

/** The names of the classes, interfaces and type aliases that a file exports where it declares them. */
export function exportedTypes({ program }: SourceFile): string[] {
  const kinds = ["ClassDeclaration", "TSInterfaceDeclaration", "TSTypeAliasDeclaration"];
  return program.body.flatMap((statement) => {
    const declaration = declarationOf(statement);
    if (declaration === statement || !kinds.includes(declaration.type)) return [];
    return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
  });
}

/** Words for a type's kind rather than its subject: most rooms have several types of each kind. */
const KINDS = new Set(["Options", "Settings", "Error", "Errors", "Result", "Of", "Framework", "Complete", "By"]);

/** The word that occurs in the most names, and in how many; on a tie, the first in alphabetical order. */
export function mostFrequentNoun(names: readonly string[]): { readonly noun: string; readonly count: number } | null {
  const counts = new Map<string, number>();
  for (const name of names) {
    const words = new Set(name.match(/[A-Z][a-z0-9]+|[A-Z]+(?![a-z])/g)?.map(singular));
    for (const word of words) if (!KINDS.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const [first] = [...counts].sort(([a, i], [b, j]) => j - i || (a < b ? -1 : 1));
  return first === undefined ? null : { noun: first[0], count: first[1] };
}

function singular(word: string): string {
  return KINDS.has(word) ? word : word.replace(/(?<=[a-z]{3})(?<!s)s$/, "");
}

/** The members that a file's classes and interfaces declare, including private ones but no constructors. Overloads are one. */
export function membersOf({ path, program }: SourceFile): Members[] {
  return program.body.flatMap((statement) => {
    const declaration = declarationOf(statement);
    if (declaration.type !== "ClassDeclaration" && declaration.type !== "TSInterfaceDeclaration") return [];
    const names = new Set<string>();
    for (const member of declaration.body.body as readonly unknown[]) {
      const name = memberName(member as Member);
      if (name !== null) names.add(name);
    }
    return [{ name: declaration.id?.name ?? "", path, count: names.size }];
  });
}

interface Member {
  readonly type: string;
  readonly kind?: string;
  readonly static?: boolean;
  readonly key?: { readonly type: string; readonly name?: string; readonly value?: unknown };
  readonly start: number;
}

function memberName({ type, kind, static: isStatic, key, start }: Member): string | null {
  if (type === "StaticBlock" || kind === "constructor") return null;
  const name = key?.name ?? key?.value ?? `at ${start}`;
  return `${isStatic ? "static " : ""}${key?.type === "PrivateIdentifier" ? "#" : ""}${name}`;
}

function declarationOf(statement: Statement): Statement {
  const isExport = statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration";
  return isExport && statement.declaration !== null ? (statement.declaration as Statement) : statement;
}

/** A file's imports of neighbors, including types and `import()`, as paths in the same folder. */
export function importsOf({ path, program }: SourceFile): Arrow[] {
  const targets = new Set<string>();
  const add = (source: { readonly value?: unknown } | null): void => {
    const { value } = source ?? {};
    if (typeof value !== "string" || !value.startsWith(".")) return;
    targets.add(relative("/", resolve("/", dirname(path), value)).replaceAll("\\", "/"));
  };
  new Visitor({
    ImportDeclaration: ({ source }) => add(source),
    ExportNamedDeclaration: ({ source }) => add(source),
    ExportAllDeclaration: ({ source }) => add(source),
    ImportExpression: ({ source }) => add(source as { readonly value?: unknown }),
    TSImportType: ({ source }) => add(source),
  }).visit(program);
  return [...targets].map((target) => [path, target]);
}

/**
 * The imports among a folder's files and subfolders that go upward in the best order of these. Without such imports, the
 * subfolders are in layers. Each subfolder is checked in the same way. Cycles among files only don't count: cycles at run
 * time are forbidden elsewhere, and two files of one concept may name each other's types.
 *
 * @param imports the files' imports, by paths whose first folder is a layer of the framework. Imports between layers are
 * left to `npm run layers`
 */
export function importsUpward(imports: readonly Arrow[]): Arrow[] {
  const folders = new Map<string, Arrow[]>();
  for (const [from, to] of imports) {
    const [a, b] = [from.split("/"), to.split("/")];
    const depth = a.findIndex((name, at) => name !== b[at]);
    if (depth < 1) continue;
    const folder = a.slice(0, depth).join("/");
    folders.set(folder, [...(folders.get(folder) ?? []), [a[depth]!, b[depth]!]]);
  }
  return [...folders].flatMap(([folder, arrows]) =>
    againstOrder(inCyclesOfFolders(arrows)).map(([from, to]): Arrow => [`${folder}/${from}`, `${folder}/${to}`]),
  );
}

/** The arrows that are part of a cycle through a folder; several between the same two files or folders count as one. */
function inCyclesOfFolders(all: readonly Arrow[]): Arrow[] {
  const arrows = [...new Map(all.map((arrow) => [arrow.join(" "), arrow])).values()];
  const reached = (start: string): Set<string> => {
    const names = new Set([start]);
    // The loop also visits what it adds to the set.
    for (const name of names) for (const [from, to] of arrows) if (from === name) names.add(to);
    return names;
  };
  const from = new Map(arrows.flat().map((name) => [name, reached(name)]));
  const folders = [...from.keys()].filter((name) => !name.endsWith(".ts"));
  return arrows.filter(([a, b]) => folders.some((folder) => from.get(b)!.has(folder) && from.get(folder)!.has(a)));
}

/**
 * Arrows that go against an order with few such arrows (Eades, Lin and Smyth, "A fast and effective heuristic for the feedback arc
 * set problem", 1993). The result is empty if and only if there is no cycle.
 */
function againstOrder(arrows: readonly Arrow[]): Arrow[] {
  const left = new Set(arrows.flat());
  const above: string[] = [];
  const below: string[] = [];
  const importing = (name: string): number => arrows.filter(([from, to]) => from === name && left.has(to)).length;
  const imported = (name: string): number => arrows.filter(([from, to]) => to === name && left.has(from)).length;
  while (left.size > 0) {
    const names = [...left];
    const bottom = names.find((name) => importing(name) === 0);
    const top = bottom === undefined ? names.find((name) => imported(name) === 0) : undefined;
    const balance = (name: string): number => importing(name) - imported(name);
    const next = bottom ?? top ?? names.reduce((best, name) => (balance(name) > balance(best) ? name : best));
    if (bottom === undefined) above.push(next);
    else below.unshift(next);
    left.delete(next);
  }
  const order = [...above, ...below];
  return arrows.filter(([from, to]) => order.indexOf(from) > order.indexOf(to));
}
