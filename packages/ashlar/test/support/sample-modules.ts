import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY, type Sample } from "./samples.ts";

const PACKAGE = join(REPOSITORY, "packages/ashlar");

/** The module that exports a name, and whether it is only a type. */
interface Import {
  readonly from: string;
  readonly isType: boolean;
}

/** A file shown in a sample. */
export interface SampleFile extends Sample {
  readonly sample: Sample;
  /** The path in its first comment, such as `routes/web.ts`, or `null` if the sample shows only one file. */
  readonly path: string | null;
}

/** A file of a sample as a module. */
export interface SampleModule extends SampleFile {
  /** Its code, after its imports, which are all on the first line. */
  readonly text: string;
}

/** The files of a sample with several, each headed by a comment with its path; otherwise the sample itself. */
export function filesOf(sample: Sample): SampleFile[] {
  const lines = sample.code.split("\n");
  const heads = lines.flatMap((line, index) => (/^\/\/ [\w./-]+\.ts$/.test(line) ? [index] : []));
  if (heads.length === 0) return [{ ...sample, sample, path: null }];
  return heads.map((start, index) => ({
    ...sample,
    sample,
    line: sample.line + start,
    path: lines[start]!.slice(3),
    code: lines.slice(start, heads[index + 1]).join("\n"),
  }));
}

/** Everything that the package exports, by name. */
export async function publicNames(): Promise<Map<string, Import>> {
  const manifest = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8")) as {
    exports: Record<string, string | { types: string }>;
  };
  const names = new Map<string, Import>();
  for (const [path, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string") continue;
    const text = await readFile(join(PACKAGE, target.types), "utf8");
    const from = `ashlar${path.slice(1)}`;
    for (const [name, isType] of exportedNames(text)) if (!names.has(name)) names.set(name, { from, isType });
  }
  return names;
}

/** The names that a settings file exports, as imports from it. */
export function settingNames(text: string, from: string): Map<string, Import> {
  const names = new Map([...exportedNames(text)].map(([name, isType]) => [name, { from, isType }]));
  const declared = /^export (?:declare )?(?:async )?(interface|type|class|const|function) (\w+)/gm;
  for (const [, kind, name] of text.matchAll(declared)) {
    names.set(name!, { from, isType: kind === "interface" || kind === "type" });
  }
  for (const [, list = ""] of text.matchAll(/^export const \{([^}]*)\} =/gm)) {
    for (const name of list.split(",")) names.set(name.trim(), { from, isType: false });
  }
  return names;
}

/**
 * Adds imports to a sample for names that it uses but doesn't declare. Code that returns a response (`return …`)
 * becomes the body of a function.
 */
export function moduleOf(sample: SampleFile, ...sources: readonly ReadonlyMap<string, Import>[]): SampleModule {
  const { code } = sample;
  const withoutText = code.replaceAll(/\/\/.*$|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/gm, '""');
  const declared = new Set(
    [
      ...withoutText.matchAll(
        /\b(?:class|interface|function|const|let|using) (\w+)|\{ ([\w, ]+) \}(?: =|:| from|\) =>)/g,
      ),
    ].flatMap(([, one, many]) =>
      one === undefined ? many!.split(", ").map((name) => name.replace("type ", "")) : [one],
    ),
  );
  const imports: string[] = [];
  // A name after a dot or before a colon is a member.
  const used = new Set(
    [...withoutText.matchAll(/(?<![\w#]|(?<!\.)\.)([A-Za-z_]\w*)\b(?!\??:)/g)].map(([name]) => name),
  );
  for (const name of used) {
    const source = sources.find((names) => names.has(name))?.get(name);
    if (source === undefined || declared.has(name) || isBeingAugmented(name, code)) continue;
    imports.push(`import ${source.isType ? "type " : ""}{ ${name} } from "${source.from}";`);
  }
  const isBody = /^return\b/m.test(code);
  const body = isBody ? `export async function sample() {\n${code}\n}` : code;
  return { ...sample, text: `${imports.join(" ")} export {};${isBody ? " " : "\n"}${body}\n` };
}

/** A module that augments an interface does not need to import it. */
function isBeingAugmented(name: string, code: string): boolean {
  return new RegExp(`declare module "[^"]+" \\{\\s*interface ${name}\\b`).test(code);
}

function* exportedNames(text: string): Generator<[name: string, isType: boolean]> {
  for (const [, all, list = ""] of text.matchAll(/^export (type )?\{([^}]*)\}/gm)) {
    for (const item of list.split(",")) {
      const [, type, name, alias] = /^\s*(type )?(\w+)(?: as (\w+))?\s*$/.exec(item) ?? [];
      if (name !== undefined) yield [alias ?? name, all !== undefined || type !== undefined];
    }
  }
}
