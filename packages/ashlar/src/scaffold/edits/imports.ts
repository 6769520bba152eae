import type { ImportDeclaration, ImportSpecifier, Node } from "@babel/types";
import { bare, type Code, declarationOf, nodesIn, rangeOf } from "./code.ts";
import { withItem } from "./lists.ts";

/** An imported value: its exported name, and the module. */
export interface Imported {
  readonly name: string;
  readonly from: string;
}

/** The code with an import, and the import's local name. */
export interface WithImport {
  readonly code: Code;
  readonly local: string;
}

/**
 * Imports a value by name, unless it is imported already.
 *
 * @returns `null` if the file uses the name for something else
 */
export function withImport(code: Code, name: string, from: string): WithImport | null {
  for (const [local, imported] of importsOf(code)) {
    if (imported.name === name && imported.from === from) return { code, local };
  }
  if (boundNames(code).has(name)) return null;
  const statements = importStatements(code);
  const joined = statements.find((one) => one.source.value === from && isJoinable(one));
  if (joined !== undefined) return { code: joinedBy(code, joined, name), local: name };
  const line = `import { ${name} } from ${code.quote(from)}${code.semicolon}`;
  const next = statements.find((one) => isAfter(one.source.value, from));
  if (next !== undefined) return { code: code.with({ at: next.start!, text: `${line}\n` }), local: name };
  const last = statements.at(-1);
  if (last !== undefined) return { code: code.with({ at: code.lineEnd(last.end!), text: `\n${line}` }), local: name };
  return { code: code.with({ at: topOf(code), text: `${line}\n\n` }), local: name };
}

/** Makes a change that uses a value, after importing the value by name. */
export function withNew(
  code: Code,
  name: string,
  from: string,
  use: (code: Code, local: string) => Code | null,
): Code | null {
  const made = withImport(code, name, from);
  return made && use(made.code, made.local);
}

/** The name under which an identifier was exported, or its own name if it isn't imported; `null` for other nodes. */
export function nameOf(node: Node | null, imports: ReadonlyMap<string, Imported>): string | null {
  const value = node && bare(node);
  return value?.type === "Identifier" ? (imports.get(value.name)?.name ?? value.name) : null;
}

/** Whether an import belongs after another one: those of files follow those of packages. */
function isAfter(one: string, other: string): boolean {
  const [isFile, isOtherFile] = [one.startsWith("."), other.startsWith(".")];
  return isFile === isOtherFile ? one > other : isFile;
}

/** The values that a file imports by name, by their local names. */
export function importsOf(code: Code): ReadonlyMap<string, Imported> {
  const imports = new Map<string, Imported>();
  for (const { importKind, specifiers, source } of importStatements(code)) {
    if (importKind === "type") continue;
    for (const one of specifiers) {
      if (one.type !== "ImportSpecifier" || one.importKind === "type") continue;
      imports.set(one.local.name, { name: importedName(one), from: source.value });
    }
  }
  return imports;
}

/** Reports whether the code uses an import with this name, under any local name. */
export function usesImport(code: Code, name: string): boolean {
  return [...importsOf(code)].some(([local, imported]) => imported.name === name && isUsed(code, local));
}

/** Reports whether a name occurs in the code outside of imports. */
export function isUsed(code: Code, name: string): boolean {
  const statements = code.program.body.filter(({ type }) => type !== "ImportDeclaration");
  return statements.some((statement) => {
    for (const node of nodesIn(statement)) if (node.type === "Identifier" && node.name === name) return true;
    return false;
  });
}

function importStatements(code: Code): ImportDeclaration[] {
  return code.program.body.filter((one) => one.type === "ImportDeclaration");
}

function importedName({ imported }: ImportSpecifier): string {
  return imported.type === "Identifier" ? imported.name : imported.value;
}

/** The names of all imports and top-level declarations in a file, including types. */
function boundNames(code: Code): ReadonlySet<string> {
  const names = new Set<string>();
  for (const statement of code.program.body) {
    if (statement.type === "ImportDeclaration") for (const { local } of statement.specifiers) names.add(local.name);
    const declaration = declarationOf(statement);
    if (declaration.type === "VariableDeclaration") {
      for (const { id } of declaration.declarations) {
        for (const node of nodesIn(id)) if (node.type === "Identifier") names.add(node.name);
      }
    } else if ("id" in declaration && declaration.id?.type === "Identifier") names.add(declaration.id.name);
  }
  return names;
}

function isJoinable({ importKind, specifiers }: ImportDeclaration): boolean {
  return importKind !== "type" && specifiers.length > 0 && specifiers.every(({ type }) => type === "ImportSpecifier");
}

function joinedBy(code: Code, { specifiers, source, start }: ImportDeclaration, name: string): Code {
  const open = code.text.indexOf("{", start!) + 1;
  const close = code.text.lastIndexOf("}", source.start!);
  const names = (specifiers as ImportSpecifier[]).map(importedName);
  const after = names.findIndex((one) => one.toLowerCase() > name.toLowerCase());
  const list = { open, close, items: specifiers.map(rangeOf), isSpaced: true };
  return withItem(code, list, after === -1 ? names.length : after, name);
}

/** The place for the first import, after a `#!` line and a comment about the file. */
function topOf({ text }: Code): number {
  const [head] = /^\uFEFF?(?:#!.*\r?\n)?(?:(?:\/\/.*\r?\n)+\r?\n|\/\*(?!\*\/)[\s\S]*?\*\/\r?\n\r?\n)?/.exec(text)!;
  return head.length;
}
