import { posix } from "node:path";

/** A module that another one imports or re-exports, and the names that it takes, as the imported module exports them. */
export interface ModuleImport {
  readonly from: string;
  /** `*` stands for everything: `import *`, `export *` and `import()`. */
  readonly names: readonly string[];
  /** Those of the names that are only taken as types. */
  readonly types: readonly string[];
}

/** `import default, { names } from "…"` and `export { names } from "…"`; also `* as name` instead of the braces. */
const STATEMENT =
  /^(?:import|export)\s+(type\s+)?([\w$]+\s*(?:,\s*)?)?(\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?)?\s*from\s+["']([^"']+)["']/gm;
/** `import("…")`, of a module or of a type. */
const CALL = /\bimport\s*\(\s*["'`]([^"'`]+)["'`]/g;

/** The modules that a module's text imports or re-exports. An import without names, for side effects only, isn't one. */
export function importsIn(text: string): ModuleImport[] {
  const statements = [...text.matchAll(STATEMENT)].map(([, type, byDefault, braces = "", from = ""]) => {
    const parts = braces.startsWith("*") ? ["*"] : partsBetween(braces);
    const names = [...(byDefault === undefined ? [] : ["default"]), ...parts.map(nameIn)];
    return { from, names, types: type === undefined ? parts.filter((part) => TYPE.test(part)).map(nameIn) : names };
  });
  return [...statements, ...[...text.matchAll(CALL)].map(([, from = ""]) => ({ from, names: ["*"], types: [] }))];
}

const TYPE = /^type\s+(?!as\b)/;

function partsBetween(braces: string): string[] {
  const parts = braces.replaceAll(/\/\/.*|[{}]/g, "").split(",");
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function nameIn(part: string): string {
  return part.replace(TYPE, "").split(/\s+as\s+/)[0]!;
}

/** A name that a feature's module takes from another folder. */
export interface TakenName {
  /** `folder: name`. */
  readonly key: string;
  readonly name: string;
  /** Whether it is only taken as a type. */
  readonly isType: boolean;
}

/**
 * The names that a feature's module takes from other folders.
 *
 * @param path the module, relative to the sources
 */
export function takenFromOthers(path: string, text: string): TakenName[] {
  const [feature] = path.split("/");
  return importsIn(text)
    .filter(({ from }) => from.startsWith("."))
    .map(({ from, names, types }) => ({ target: posix.join(posix.dirname(path), from), names, types }))
    .filter(({ target }) => !target.startsWith(`${feature}/`))
    .flatMap(({ target, names, types }) => {
      const folder = target.replace(/\/index\.ts$/, "");
      return names.map((name) => ({ key: `${folder}: ${name}`, name, isType: types.includes(name) }));
    });
}
