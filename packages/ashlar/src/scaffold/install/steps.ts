import { parseEnv } from "node:util";
import { Code } from "../edits/code.ts";
import { propertyOf, withProperty } from "../edits/declarations.ts";
import type { Edit } from "../edits/edits.ts";
import { javaScriptOf, readIfThere } from "../files/existing-files.ts";

/** A change for the author to make by hand. */
export interface RemainingStep {
  readonly file: string;
  readonly lines: readonly string[];
  /** The syntax error that keeps the file from being changed, if there is one. */
  readonly problem?: string;
}

/** A change to a source file. */
export interface CodeStep extends RemainingStep {
  /** The name of the thing that is added, such as `ApiProvider` or `web`. `linesFor` looks up a step by this name. */
  readonly adds?: string;
  readonly edit: Edit;
  /** The lines for a file with this text, if they depend on it. */
  readonly linesIn?: (text: string, file: string) => Promise<readonly string[]>;
}

/** A change to a file that isn't source code. */
export interface TextStep extends RemainingStep {
  /**
   * Returns the changed text, the same text if the change has already been made, or `null` if the change can't be made.
   */
  readonly rewrite: (text: string) => Promise<string | null> | string | null;
}

/**
 * A change that an application needs for a feature. Its lines are shown if the author has to make the change by hand.
 */
export type Step = CodeStep | TextStep;

/** The files that steps have changed, and the remaining steps. */
export interface StepResult {
  /** The texts before and after the steps, by path. */
  readonly changed: ReadonlyMap<string, { readonly before: string; readonly after: string }>;
  readonly remaining: readonly RemainingStep[];
}

/** Makes the changes that can be made, without writing anything. A missing `.env` is created from its example. */
export async function applySteps(root: string, steps: readonly Step[]): Promise<StepResult> {
  const changed = new Map<string, { readonly before: string; readonly after: string }>();
  const remaining: RemainingStep[] = [];
  for (const step of steps) {
    const file = (await javaScriptOf(root, step.file)) ?? step.file;
    const known = changed.get(file);
    const before = known?.before ?? (await readIfThere(root, file));
    if (before === null) {
      if (!file.startsWith(".env")) remaining.push({ file, lines: step.lines });
      continue;
    }
    const text = known?.after ?? before;
    const left = async (): Promise<RemainingStep> => {
      return { file, lines: "linesIn" in step ? await step.linesIn(text, file) : step.lines };
    };
    try {
      const after = "edit" in step ? await edited(text, file, step.edit) : await step.rewrite(text);
      if (after === null) remaining.push(await left());
      else if (after !== text) changed.set(file, { before, after });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      remaining.push({ ...(await left()), problem: error.message });
    }
  }
  return { changed, remaining };
}

/**
 * The text after an edit; `null` if the edit can't be made, or its result would not parse.
 *
 * @throws `SyntaxError` with the line and column, if the text itself can't be parsed
 */
async function edited(text: string, file: string, edit: Edit): Promise<string | null> {
  const code = await Code.of(text, file);
  try {
    return edit(code)?.text ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Appends the variables that a file lacks, each with its comments above. */
export function variablesStep(file: string, lines: readonly string[]): TextStep {
  return {
    file,
    lines,
    rewrite(text) {
      const known = parseEnv(text.replace(/^([ \t]*)export[ \t]+/gm, "$1"));
      const isMissing = (line: string): boolean => {
        const [name] = /^\w+(?==)/.exec(line) ?? [];
        return name === undefined || !Object.hasOwn(known, name);
      };
      const missing = lines.filter(isMissing);
      if (!missing.some((line) => !line.startsWith("#"))) return text;
      const end = text.includes("\r\n") ? "\r\n" : "\n";
      const gap = text === "" ? "" : text.endsWith("\n") ? end : end + end;
      return `${text}${gap}${missing.join(end)}${end}`;
    },
  };
}

/** The `test` script that npm writes to a new `package.json`. */
const NO_TESTS = 'echo "Error: no test specified" && exit 1';

/** Adds a script to `package.json`. */
export function manifestStep(name: string, command: string): TextStep {
  const property = `${JSON.stringify(name)}: ${JSON.stringify(command)}`;
  return {
    file: "package.json",
    lines: ["// in scripts:", property],
    async rewrite(text) {
      // JSON is parsed as an expression, and can then be edited like code, which preserves its formatting.
      const code = await Code.of(`(${text}\n)`, "package.json");
      const [statement] = code.program.body;
      const manifest = statement?.type === "ExpressionStatement" ? statement.expression : null;
      if (manifest?.type !== "ObjectExpression") return null;
      const scripts = propertyOf(manifest, "scripts")?.value;
      if (scripts === undefined) {
        const own = `"scripts": {\n${code.indent}${code.indent}${property}\n${code.indent}}`;
        return withProperty(code, manifest, own, manifest.properties.length).text.slice(1, -2);
      }
      if (scripts.type !== "ObjectExpression") return null;
      const script = propertyOf(scripts, name)?.value;
      if (script === undefined)
        return withProperty(code, scripts, property, scripts.properties.length).text.slice(1, -2);
      if (script.type !== "StringLiteral" || script.value !== NO_TESTS) return text;
      return code.with({ at: script.start!, until: script.end!, text: JSON.stringify(command) }).text.slice(1, -2);
    },
  };
}
