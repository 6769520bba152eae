import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "../support/index.ts";

/** Values for a stub: texts for its `%{name}` placeholders, booleans for its `//#if name` blocks. */
export type StubValues = Readonly<Record<string, string | boolean>>;

/** The folder of the stubs. */
export const STUBS: string = join(PACKAGE_FOLDER, "stubs");

/** The stubs that were read, by path. */
const TEXTS = new Map<string, Promise<string>>();

const DIRECTIVE = /^\s*\/\/#(if|else|endif)\b\s*(\w*)\s*$/;

/**
 * Renders a stub: keeps or drops the lines between `//#if name`, `//#else` and `//#endif`, and replaces `%{name}`.
 *
 * @param text the stub
 * @param values by name; throws if the stub uses a name that is missing here
 * @returns the text of the file to write
 */
export function fillStub(text: string, values: StubValues): string {
  const lines: string[] = [];
  const kept: boolean[] = [];
  for (const line of text.split("\n")) {
    const [, directive, name = ""] = DIRECTIVE.exec(line) ?? [];
    if (directive === "if") kept.push(lookUp(values, name) === true);
    else if (directive === "else") kept.push(!kept.pop());
    else if (directive === "endif") kept.pop();
    else if (kept.every(Boolean)) lines.push(line);
  }
  return lines.join("\n").replaceAll(/%\{(\w+)\}/g, (_, name: string) => String(lookUp(values, name)));
}

function lookUp(values: StubValues, name: string): string | boolean {
  const value = values[name];
  if (value === undefined) throw new Error(`The stub uses "${name}", which has no value.`);
  return value;
}

/**
 * Reads and renders one of the package's stubs.
 *
 * @param path below `stubs/`, without the `.stub` ending: `make/model.ts`
 * @param values the values for the stub
 */
export async function readStub(path: string, values: StubValues): Promise<string> {
  // `ashlar auth` renders each stub for every combination of choices.
  const text = TEXTS.get(path) ?? readFile(join(STUBS, `${path}.stub`), "utf8");
  TEXTS.set(path, text);
  return fillStub(await text, values);
}
