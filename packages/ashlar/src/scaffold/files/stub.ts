import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "../../support/index.ts";

/** The values for a stub: texts for `%{name}` placeholders, and booleans for `//#if name` blocks. */
export type StubValues = Readonly<Record<string, string | boolean>>;

/** The folder with the stubs. */
export const STUBS: string = join(PACKAGE_FOLDER, "stubs");

/** A stub that has been read. */
interface Stub {
  readonly text: string;
  /** The names of the values that the stub uses. */
  readonly names: readonly string[];
  /** The rendered texts, by these values. */
  readonly rendered: Map<string, string>;
}

/** The stubs that have been read, by path. */
const READ = new Map<string, Promise<Stub>>();

/**
 * The number of renderings of a stub that are kept, which is enough for every combination of choices in one
 * application.
 */
const MOST_RENDERED = 100;

const DIRECTIVE = /^\s*\/\/#(if|else|endif)\b\s*(\w*)\s*$/;

/**
 * Renders a stub: keeps or drops the lines between `//#if name`, `//#else` and `//#endif`, and replaces `%{name}`.
 *
 * @param text the stub
 * @param values the values by name; throws if the stub uses a name that is missing
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
  const reading = READ.get(path) ?? read(path);
  READ.set(path, reading);
  const { text, names, rendered } = await reading;
  // Commands that install a feature render each stub for every combination of choices, most of which it doesn't depend on.
  const key = JSON.stringify(names.map((name) => values[name]));
  const known = rendered.get(key);
  if (known !== undefined) return known;
  const filled = fillStub(text, values);
  if (rendered.size >= MOST_RENDERED) rendered.clear();
  rendered.set(key, filled);
  return filled;
}

async function read(path: string): Promise<Stub> {
  const text = await readFile(join(STUBS, `${path}.stub`), "utf8");
  const names = new Set(
    [...text.matchAll(/%\{(\w+)\}|\/\/#if\b\s*(\w+)/g)].map(([, value, choice]) => value ?? choice!),
  );
  return { text, names: [...names], rendered: new Map() };
}
