// Checks that every `{@link …}` in a doc comment leads to a name in scope, as an editor resolves it. Other names are
// between backticks. An argument replaces the folder with the sources.

import { globSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript-5";

const folder = process.argv[2] ?? join(import.meta.dirname, "../packages/ashlar/src");
const files = globSync("**/*.ts", { cwd: folder }).filter((file) => !file.endsWith(".test.ts"));
// TypeScript 7 has no API for this yet. No types of packages, because only names matter.
const program = ts.createProgram(
  files.map((file) => join(folder, file)),
  { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2024, allowImportingTsExtensions: true, types: [] },
);
const checker = program.getTypeChecker();

/** The broken links below a node. */
function brokenLinks(node: ts.Node): string[] {
  const broken: string[] = [];
  const look = (below: ts.Node): void => {
    const isLink = ts.isJSDocLink(below);
    if (isLink && (!below.name || checker.getSymbolAtLocation(below.name) === undefined)) broken.push(below.getText());
    // The parser keeps doc comments beside the children.
    const { jsDoc = [] } = below as ts.Node & { jsDoc?: readonly ts.JSDoc[] };
    for (const comment of jsDoc) look(comment);
    ts.forEachChild(below, look);
  };
  look(node);
  return broken;
}

for (const file of files.sort()) {
  for (const link of brokenLinks(program.getSourceFile(join(folder, file))!)) {
    console.log(`${file.replaceAll("\\", "/")}: ${link} leads to no name in scope. Use backticks if that is meant.`);
    process.exitCode = 1;
  }
}
