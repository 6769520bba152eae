// The reference of the configuration lists what the schemas in the code accept, and every environment variable.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Setting } from "../../../src/support/index.ts";
import { codeOf, type PageTable, pageTables } from "../../support/page-tables.ts";
import { REPOSITORY } from "../../support/samples.ts";

const PAGE = "docs/reference/configuration.md";
const SOURCES = ["packages/ashlar/src", "packages/create-ashlar/src"];

type Schema = Readonly<Record<string, Setting<unknown>>>;

/** The schemas of all objects of settings, by the setting that reads them. */
const schemas = new Map<unknown, Schema>();
const HELPERS = "../../../src/support/settings/settings.ts";

// Other files of this worker may have loaded the framework already, without the helper that notes its calls.
beforeAll(() => {
  vi.resetModules();
  vi.doMock(HELPERS, async (original) => {
    const real = await original<typeof import("../../../src/support/settings/settings.ts")>();
    const noting = () => (schema: Schema, options: object) => {
      const made = (real.settings<object>() as (schema: Schema, options: object) => Setting<unknown>)(schema, options);
      schemas.set(made, schema);
      return made;
    };
    return { ...real, settings: noting };
  });
});

afterAll(() => {
  vi.doUnmock(HELPERS);
  vi.resetModules();
});

/** A key, with the keys of objects within objects joined by dots. */
interface Key {
  readonly name: string;
  readonly setting: Setting<unknown>;
}

function keysOf(schema: Schema, prefix = ""): Key[] {
  return Object.entries(schema).flatMap(([name, setting]) => {
    const inner = schemas.get(setting);
    return inner === undefined ? [{ name: prefix + name, setting }] : keysOf(inner, `${prefix}${name}.`);
  });
}

/** The schemas that no other contains, each as its keys. */
async function allSections(): Promise<Key[][]> {
  for (const name of ["api", "auth", "database", "index", "mail", "metrics", "security", "session", "throttle"]) {
    await import(`../../../src/public/${name}.ts`);
  }
  const { readApplicationSettings } = await import("../../../src/boot/environment/settings.ts");
  const { readThrottleSettings } = await import("../../../src/throttle/settings.ts");
  await import("../../../src/auth/web/web-guard-settings.ts");
  // These two make their schema when they are called.
  readApplicationSettings({}, { APP_ENV: "test" }, false);
  readThrottleSettings(undefined, {});
  const contained = new Set([...schemas.values()].flatMap((schema) => Object.values(schema)));
  const outer = [...schemas].filter(([made]) => !contained.has(made as Setting<unknown>));
  return outer.map(([, schema]) => keysOf(schema)).filter((keys) => keys.length > 0);
}

function defaultOf({ read }: Setting<unknown>): { readonly value: unknown } | "required" {
  try {
    return { value: read(undefined, "here") };
  } catch (error) {
    expect(String(error)).toContain("is missing.");
    return "required";
  }
}

const signature = (names: readonly string[]): string => names.toSorted().join(" ");

/** Tables that describe no schema of `settings()`: of all keys but one, their names are the author's. */
const WITHOUT_SCHEMA = ["default"];
/** What features declare as a limit, with keys that authors cannot write. */
const DECLARED = "account buckets knownDevicesApart ofAccounts slower";

async function described(): Promise<{ readonly table: PageTable; readonly keys: readonly Key[] }[]> {
  const tables = (await pageTables(PAGE)).filter(({ columns }) => columns[0] === "Key");
  const sections = new Map((await allSections()).map((keys) => [signature(keys.map(({ name }) => name)), keys]));
  expect(sections.delete(DECLARED)).toBe(true);
  const found = tables.flatMap((table) => {
    const name = signature(table.rows.map(({ Key = "" }) => codeOf(Key) ?? Key));
    if (WITHOUT_SCHEMA.includes(name)) return [];
    const keys = sections.get(name);
    expect(keys, `${table.heading}: ${name}\nnone of:\n${[...sections.keys()].join("\n")}`).toBeDefined();
    sections.delete(name);
    return [{ table, keys: keys! }];
  });
  expect([...sections.keys()]).toEqual([]);
  return found;
}

test("the page has a table for each settings object, with exactly its keys", async () => {
  expect((await described()).length).toBeGreaterThan(13);
});

test("each key has its actual default, or is marked as required, and each number has its range", async () => {
  const wrong: string[] = [];
  let compared = 0;
  for (const { table, keys } of await described()) {
    for (const { name, setting } of keys) {
      const row = table.rows.find(({ Key }) => Key === `\`${name}\``)!;
      const [, from, to] = /from ([\d.]+) to ([\d.]+)/.exec(setting.what) ?? [];
      const type = row.Type!.replaceAll(",", "");
      if (from !== undefined && !type.includes(`${from} to ${to}`)) wrong.push(`${table.heading} ${name}: ${type}`);
      const unit = / of (minutes|seconds|days|bytes|milliseconds|KiB)/.exec(setting.what)?.[1];
      if (unit !== undefined && !type.startsWith(unit)) wrong.push(`${table.heading} ${name}: ${type} in ${unit}`);
      const made = defaultOf(setting);
      const shown = row.Default!;
      if (made === "required") {
        if (!shown.includes("required")) wrong.push(`${table.heading} ${name} is required`);
      } else if (isLiteral(made.value)) {
        compared++;
        if (codeOf(shown) !== JSON.stringify(made.value)) wrong.push(`${table.heading} ${name}: ${shown}`);
      } else if (shown === "" || (made.value === null && isJson(codeOf(shown)))) {
        wrong.push(`${table.heading} ${name} has no default: ${shown}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(40);
});

function isLiteral(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value) || (Array.isArray(value) && value.length === 0);
}

function isJson(text: string | null): boolean {
  try {
    return text !== null && JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

/** The lines of `config/` in new applications that read a variable, and of the code that does. */
async function variablesRead(): Promise<Set<string>> {
  const found = new Set<string>();
  const texts = [await readFile(join(REPOSITORY, "packages/ashlar/stubs/application/env.stub"), "utf8")];
  for (const [, name] of texts[0]!.matchAll(/^([A-Z_]+)=/gm)) found.add(name!);
  for (const folder of ["packages/ashlar/stubs", ...SOURCES]) {
    for (const entry of await readdir(join(REPOSITORY, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || /\.test\.ts$/.test(entry.name)) continue;
      const text = (await readFile(join(entry.parentPath, entry.name), "utf8")).replaceAll(/^\s*(?:\*|\/\/).*$/gm, "");
      if (folder.endsWith("stubs")) {
        for (const [, name] of text.matchAll(/\benv\("([A-Z_]+)"/g)) found.add(name!);
        continue;
      }
      const read =
        /\b(?:process\.env|environment|variables)\.([A-Z][A-Z_]+)\b|\{ ([A-Z][A-Z_]+)(?: = "")? \}: EnvironmentVariables/g;
      for (const [, member, destructured] of text.matchAll(read)) found.add(member ?? destructured!);
    }
  }
  return found;
}

test("the page lists exactly the environment variables that the framework or a new application reads", async () => {
  const tables = (await pageTables(PAGE)).filter(({ columns }) => columns[0] === "Variable");
  const listed = tables.flatMap(({ rows }) => rows.map(({ Variable = "" }) => codeOf(Variable)!));
  expect(listed.toSorted()).toEqual([...(await variablesRead())].toSorted());
});

test("the keys' variables are those of the generated configuration, or the framework's own", async () => {
  const tables = await pageTables(PAGE);
  const listed = new Set(
    tables.filter(({ columns }) => columns[0] === "Variable").flatMap(({ rows }) => rows.map((row) => row.Variable)),
  );
  const named = tables
    .filter(({ columns }) => columns[0] === "Key" && columns.includes("Variable"))
    .flatMap(({ rows }) => rows.map(({ Variable = "" }) => Variable).filter((name) => name !== ""));
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !listed.has(name))).toEqual([]);
});

test("a misspelled key fails startup with the page's sentence", async () => {
  const { readWebGuardSettings } = await import("../../../src/auth/web/web-guard-settings.ts");
  const text = await readFile(join(REPOSITORY, PAGE), "utf8");
  const [, shown] = /```text\n(.+)\n```/.exec(text)!;
  expect(() => readWebGuardSettings("web", { idleMinuts: 5 }, { isHttps: false, suffix: "" })).toThrow(shown);
});
