import { globSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript-5";
import { expect, test } from "vitest";
import { folderWith } from "../support/temporary-folder.ts";

const SOURCE = join(import.meta.dirname, "../../src");

/** The links in a folder's doc comments that lead to no name in scope, as an editor resolves them. */
function brokenLinks(folder: string): string[] {
  const sources = globSync("**/*.ts", { cwd: folder }).filter((file) => !file.endsWith(".test.ts"));
  const program = ts.createProgram(
    sources.map((file) => join(folder, file)),
    {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2024,
      allowImportingTsExtensions: true,
      noEmit: true,
      types: [],
    },
  );
  const checker = program.getTypeChecker();
  const broken: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isJSDocLink(node) && (!node.name || checker.getSymbolAtLocation(node.name) === undefined)) {
      const file = relative(folder, node.getSourceFile().fileName);
      broken.push(`${file}: ${node.getText()}`);
    }
    const { jsDoc = [] } = node as ts.Node & { jsDoc?: readonly ts.JSDoc[] };
    for (const comment of jsDoc) look(comment);
    ts.forEachChild(node, look);
  };
  for (const file of sources) look(program.getSourceFile(join(folder, file))!);
  return broken;
}

test("every link in a doc comment leads to a name in scope; other names are between backticks", () => {
  expect(brokenLinks(SOURCE)).toEqual([]);
});

test("a link to a name that is not in scope, or that was renamed, is found", () => {
  const folder = folderWith({
    "login.ts": `import type { Guard } from "./guard.ts";

/** See {@link Guard}, {@link Guard.user}, {@link Login.end}, {@link Guard.attempt} and {@link LoginGuard}. */
export class Login {
  declare guard: Guard;

  /** Like {@link renew}, and {@link #stop}, but not {@link
   * renew}. */
  end(): void {}

  renew(): void {}
}
`,
    "guard.ts": "export class Guard { user = null }\nexport class LoginGuard {}\n",
  });
  expect(brokenLinks(folder)).toEqual([
    "login.ts: {@link Guard.attempt}",
    "login.ts: {@link LoginGuard}",
    "login.ts: {@link #stop}",
    "login.ts: {@link\n   * renew}",
  ]);
});
