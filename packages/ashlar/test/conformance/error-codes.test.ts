import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { expect, test } from "vitest";
import "../../src/public/api.ts";
import "../../src/public/mail.ts";
import "../../src/public/session.ts";
import "../../src/public/two-factor.ts";
import "../../src/public/views.ts";
import { ERRORS } from "../../src/support/index.ts";

const SOURCE = join(import.meta.dirname, "../../src");
const CODES = /^(?:export )?const (?:CODES|[A-Z_]+_ERRORS) = \{\n([\s\S]*?)^\} as const;/m;
/** Matches codes that are thrown, not codes that something is compared with. */
const THROWN = /(?<!=== )"(E_[A-Z_]+)"/g;

const files = new Map(
  readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => [name.replaceAll("\\", "/"), readFileSync(join(SOURCE, name), "utf8")]),
);

/** The codes of features, each with the status and the file that its type comes from. */
const types = [...files].flatMap(([name, text]) => {
  const [, block = ""] = CODES.exec(text) ?? [];
  return [...block.matchAll(/^ {2}(E_\w+): \[(\d+), /gm)].map(
    ([, code, status]) => [code!, Number(status), name] as const,
  );
});

/** The file that declares each code. */
const declared = new Map(types.map(([code, , name]) => [code, name]));

/** The `index.ts` through which other folders import a file. */
function indexAbove(file: string): string {
  const index = `${dirname(file)}/index.ts`;
  return files.has(index) ? index : indexAbove(dirname(file));
}

test("every code whose type a feature declares has that status, and a sentence", () => {
  expect(types.length).toBeGreaterThan(50);
  const known = ERRORS as Readonly<Record<string, readonly [status: number, sentence: string]>>;
  const found = types.map(([code]) => [code, known[code]?.[0], typeof known[code]?.[1]]);
  expect(found).toEqual(types.map(([code, status]) => [code, status, "string"]));
});

test("support declares only its own codes and those that unrelated folders share", () => {
  // Not the codes in ERRORS, because other tests in this process declare codes too.
  const [, base = ""] = /^const BASE = \{\n([\s\S]*?)^\} as const;/m.exec(files.get("support/errors.ts")!) ?? [];
  const own = [...base.matchAll(/^ {2}(E_\w+): /gm)].map(([, code]) => code!);
  expect(own.toSorted()).toEqual([
    "E_COMMAND",
    "E_INTERNAL",
    "E_INVALID_CONFIGURATION",
    "E_INVALID_INPUT",
    "E_INVALID_MODEL",
    "E_MISSING_PACKAGE",
    "E_OVERLOADED",
  ]);
});

test("every bare import of errors.ts or of another folder is for a code that the file throws", () => {
  const bare = [...files].flatMap(([name, text]) => {
    if (name.startsWith("public/")) return [];
    const codes = [...text.matchAll(THROWN)].flatMap(([, code]) => declared.get(code!) ?? []);
    const homes = codes.flatMap((home) => [home, indexAbove(home)]);
    const imported = [...text.matchAll(/^import "(\..*\/(?:errors|index)\.ts)";$/gm)].map(([, path]) => path!);
    return imported
      .filter((path) => !homes.includes(posix.join(dirname(name), path)))
      .map((path) => `${name}: ${path}`);
  });
  expect(bare).toEqual([]);
});

test("every file that throws a feature's code imports the file that declares it", () => {
  const missing = [...files].flatMap(([name, text]) => {
    // Translations use codes only in types, and the client reads them from responses.
    if (/\/messages\.\w+\.ts$|^client\//.test(name)) return [];
    const own = [...new Set([...text.matchAll(THROWN)].map(([, code]) => code!))];
    return own.flatMap((code) => {
      const home = declared.get(code);
      if (home === undefined || home === name) return [];
      const isWithin = name.startsWith(`${home.split("/")[0]}/`);
      const path = relative(dirname(name), isWithin ? home : indexAbove(home)).replaceAll("\\", "/");
      const specifier = path.startsWith(".") ? path : `./${path}`;
      const isLoaded = new RegExp(`^import (?!type )[^;]*"${specifier}";`, "m").test(text);
      return isLoaded ? [] : [`${name}: ${code} of ${specifier}`];
    });
  });
  expect(missing).toEqual([]);
});
