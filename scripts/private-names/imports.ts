import { posix } from "node:path";

/** A module that another one imports or re-exports, and the names that it takes, as the imported module exports them. */
export interface ModuleImport {
  readonly from: string;
  /** `*` stands for everything: `import *`, `export *` and `import()`. */
  readonly names: readonly string[];
}

/** `import default, { names } from "…"` and `export { names } from "…"`; also `* as name` instead of the braces. */
const STATEMENT =
  /^(?:import|export)\s+(?:type\s+)?([\w$]+\s*(?:,\s*)?)?(\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?)?\s*from\s+["']([^"']+)["']/gm;
/** `import("…")`, of a module or of a type. */
const CALL = /\bimport\s*\(\s*["'`]([^"'`]+)["'`]/g;

/** The modules that a module's text imports or re-exports. An import without names, for side effects only, isn't one. */
export function importsIn(text: string): ModuleImport[] {
  const statements = [...text.matchAll(STATEMENT)].map(([, byDefault, names = "", from = ""]) => ({
    from,
    names: [...(byDefault === undefined ? [] : ["default"]), ...(names.startsWith("*") ? ["*"] : namesBetween(names))],
  }));
  return [...statements, ...[...text.matchAll(CALL)].map(([, from = ""]) => ({ from, names: ["*"] }))];
}

function namesBetween(braces: string): string[] {
  return braces
    .replaceAll(/\/\/.*|[{}]/g, "")
    .split(",")
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type\s+(?!as\b)/, "")
          .split(/\s+as\s+/)[0]!,
    )
    .filter((name) => name !== "");
}

/**
 * The names that a feature's module takes from other folders, each as `folder: name`.
 *
 * @param path the module, relative to the sources
 */
export function takenFromOthers(path: string, text: string): string[] {
  const [feature] = path.split("/");
  return importsIn(text)
    .filter(({ from }) => from.startsWith("."))
    .map(({ from, names }) => ({ target: posix.join(posix.dirname(path), from), names }))
    .filter(({ target }) => !target.startsWith(`${feature}/`))
    .flatMap(({ target, names }) => names.map((name) => `${target.replace(/\/index\.ts$/, "")}: ${name}`));
}
