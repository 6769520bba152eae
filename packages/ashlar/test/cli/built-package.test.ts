// Bundling must not change how the installed package behaves.
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { expect, test } from "vitest";
import { execute, generatedApplication } from "../support/generated-application.ts";
import { packedPackages } from "../support/packed-packages.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const BLOCK = 4096;

function readmeOf(folder: string): Promise<string> {
  return readFile(join(PACKAGE, "../..", folder, "README.md"), "utf8");
}

/** Runs a module next to a generated application's `app.ts`, and returns its last line of output as JSON. */
async function printed(module: string): Promise<unknown> {
  const root = await generatedApplication({ pages: false, api: false });
  await writeFile(join(root, "module.ts"), module);
  const { output } = await execute(root, process.execPath, ["module.ts"]);
  return JSON.parse(output.trimEnd().split("\n").at(-1)!);
}

test("booting loads the framework from fewer than 40 files, and bundled packages from nowhere else", async () => {
  const loaded = await printed(`
    import { registerHooks } from "node:module";
    const loaded: string[] = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    await import("./app.ts");
    console.log(JSON.stringify(loaded));`);
  const own = (loaded as string[]).filter((url) => url.includes("/ashlar/dist/"));
  expect(own.length).toBeGreaterThan(5);
  expect(own.length).toBeLessThan(40);
  for (const name of ["kysely", "srvx", "rou3", "pino", "edge.js"]) {
    expect(loaded).not.toContainEqual(expect.stringContaining(`/node_modules/${name}/`));
  }
});

test("booting does not load code that only some requests, routes and tests need", async () => {
  const loaded = await printed(`
    import { registerHooks } from "node:module";
    const loaded: string[] = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const { default: application } = await import("./app.ts");
    const booted = [...loaded];
    await (await application.fetch(new Request("http://localhost/"))).text();
    console.log(JSON.stringify({ booted, requested: loaded.slice(booted.length) }));`);
  const { booted, requested } = loaded as { readonly booted: readonly string[]; readonly requested: readonly string[] };
  for (const name of ["edge", "parse5", "re2"]) {
    expect(booted).not.toContainEqual(expect.stringContaining(`/chunk-${name}.js`));
  }
  expect(requested).toContainEqual(expect.stringContaining("/chunk-edge.js"));
});

test("every file of the bundle is Latin-1, so that V8 can store it with one byte per character", async () => {
  const files = (await readdir(join(PACKAGE, "dist"))).filter((file) => file.endsWith(".js"));
  expect(files.length).toBeGreaterThan(20);
  for (const file of files) expect(await readFile(join(PACKAGE, "dist", file), "utf8")).not.toMatch(/[^\0-\xff]/);
});

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The folders of a production install's packages, relative to the repository, and which of them are native. */
async function installed(): Promise<{ readonly places: readonly string[]; readonly native: readonly string[] }> {
  const lock = JSON.parse(await readFile(join(PACKAGE, "../../package-lock.json"), "utf8"));
  const packages = lock.packages as Readonly<Record<string, Locked>>;
  const seen = new Set<string>();
  const visit = (place: string): void => {
    if (seen.has(place)) return;
    seen.add(place);
    for (const name of Object.keys(packages[place]!.dependencies ?? {})) {
      let from = place;
      while (packages[posix.join(from, "node_modules", name)] === undefined) from = from.replace(/(?:^|\/)[^/]+$/, "");
      visit(posix.join(from, "node_modules", name));
    }
  };
  visit("packages/ashlar");
  return {
    places: [...seen],
    native: [...seen].filter((place) => packages[place]!.optionalDependencies !== undefined),
  };
}

test("a production install adds no more packages than the README says, and only one is native", async () => {
  const { places, native } = await installed();
  expect(native).toEqual(["node_modules/@node-rs/argon2"]);
  // An install gets one of the optional packages, each of which is for one platform.
  const [, promised] = /the framework installs as (\d+) packages,/.exec(await readmeOf(".")) ?? [];
  expect(places.length + native.length).toBeLessThanOrEqual(Number(promised));
  expect(places.length).toBeGreaterThan(5);
});

test("a production install takes as much disk space as the README says", async () => {
  const { paths } = packedPackages().find(({ name }) => name === "ashlar")!;
  const files = paths.map((path) => join(PACKAGE, path));
  const { places } = await installed();
  const modules = join(PACKAGE, "../../node_modules");
  const platform = (await readdir(join(modules, "@node-rs"))).filter((name) => name.startsWith("argon2-"));
  const others = places.filter((place) => place !== "packages/ashlar").map((place) => join(PACKAGE, "../..", place));
  for (const folder of [...others, ...platform.map((name) => join(modules, "@node-rs", name))]) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !path.slice(folder.length).includes("node_modules")) files.push(path);
    }
  }
  // As `du` counts on most file systems, where a folder takes a block too.
  const blocks = (bytes: number) => Math.ceil(bytes / BLOCK) * BLOCK;
  let size = new Set(files.map((file) => dirname(file))).size * BLOCK;
  for (const file of files) size += blocks((await stat(file)).size);
  const [, promised] = /11 packages, (\d+) MB on disk/.exec(await readmeOf(".")) ?? [];
  expect(Math.abs(size / 1e6 - Number(promised))).toBeLessThan(1);
});

test("the package's README is the repository's, without the parts about the repository", async () => {
  // The comparison with other frameworks is in the manual, which is part of the package.
  const whole = (await readmeOf(".")).replace(/## From nothing to a token\n[\s\S]*?\n(?=## )/, "");
  const [before = "", section = ""] = whole.split("\n## This repository\n");
  const published = `${before}\n${section.slice(section.lastIndexOf("\n\n") + 2)}`
    // Links that don't work on a registry's page.
    .replaceAll(/in \[[\w/.-]+\]\((bench\/[\w.-]+)\)/g, "in the repository, under `$1`")
    .replaceAll(/in \[[\w/.-]+\]\((docs\/[\w.-]+)\)/g, "in this package, under `$1`");
  expect(await readmeOf("packages/ashlar")).toBe(published);
  const documents = [...published.matchAll(/`(docs\/[\w.-]+)`/g)].map(([, path]) => path!);
  expect(documents).toContain("docs/account-stores.md");
  for (const path of documents) {
    expect(await readFile(join(PACKAGE, path), "utf8")).toBe(await readFile(join(PACKAGE, "../..", path), "utf8"));
  }
});

test.each([[{ pages: false, api: false }], [{}]])(
  "the package's types compile even with skipLibCheck off, in an application with %j",
  async (features) => {
    const root = await generatedApplication(features);
    const compiler = join(PACKAGE, "../../node_modules/typescript/bin/tsc");
    const checked = await execute(root, process.execPath, [compiler, "--noEmit", "--skipLibCheck", "false"]);
    const own = checked.output.split("\n").filter((line) => /dist\/types|^app|^config|^routes|^tests/.test(line));
    expect(own).toEqual([]);
  },
);

test("the bundled version of Kysely matches its installed types", async () => {
  const read = async (file: string) => JSON.parse(await readFile(file, "utf8"));
  const { dependencies } = await read(join(PACKAGE, "package.json"));
  const { version } = await read(join(PACKAGE, "../../node_modules/kysely/package.json"));
  expect(dependencies.kysely).toBe(version);
});

test("the notice contains each bundled package's license", async () => {
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8"));
  const licenses = await readFile(join(PACKAGE, "NOTICE.md"), "utf8");
  for (const name of ["commander", "edge.js", "kysely", "parse5", "pino", "rou3", "semver", "srvx"]) {
    const version = { ...devDependencies, ...dependencies }[name] as string;
    expect(licenses).toContain(`### ${name} ${version}\n`);
  }
  // Their own dependencies are bundled with them.
  expect(licenses).toMatch(/^### acorn /m);
  for (const license of licenses.split(/^### (?=\S+ \d)/m).slice(1)) {
    expect(license).toMatch(/^\S+ \d+\.\d+\.\d+\n\n(?:[\s\S]*(?:copyright|License: \w))/i);
  }
});

test("the notice names each installed package's license", async () => {
  const { dependencies } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8"));
  const text = await readFile(join(PACKAGE, "NOTICE.md"), "utf8");
  const rows = [...text.matchAll(/^\| (\S+) \| \d+\.\d+\.\d+ \| [\w.-]+ \|$/gm)].map(([, name]) => name);
  expect(rows).toEqual(Object.keys(dependencies));
  for (const name of await readdir(join(PACKAGE, "data"))) expect(text).toContain(`\`data/${name}\``);
});

test("an application's own imports from Kysely work with the framework's instance", async () => {
  const rows = await printed(`
    import { sql } from "kysely";
    import { Database } from "ashlar/database";
    const memory = { driver: "sqlite", path: ":memory:" } as const;
    const { kysely } = new Database({ default: "memory", memory }, ".").connection();
    await kysely.schema.createTable("words").addColumn("word", "text", (column) => column.defaultTo(sql\`'new'\`)).execute();
    await kysely.insertInto("words").values({ word: sql\`upper(\${"old"})\` }).execute();
    const { rows } = await sql\`select \${sql.ref("word")} from \${sql.table("words")}\`.execute(kysely);
    const query = kysely.selectFrom("words").select(sql<number>\`count(*)\`.as("count"));
    console.log(JSON.stringify([rows, await query.execute()]));`);
  expect(rows).toEqual([[{ word: "OLD" }], [{ count: 1 }]]);
});

test("classes keep the names that messages and the log use", async () => {
  const names = await printed(`
    import * as core from "ashlar";
    import * as auth from "ashlar/auth";
    import * as database from "ashlar/database";
    import * as jwt from "ashlar/jwt";
    const classes = Object.entries({ ...core, ...auth, ...database, ...jwt })
      .filter(([, value]) => typeof value === "function" && /^class\\b/.test(Function.prototype.toString.call(value)));
    console.log(JSON.stringify(classes.map(([name, value]) => [name, (value as Function).name])));`);
  expect((names as [string, string][]).length).toBeGreaterThan(15);
  for (const [name, own] of names as [string, string][]) expect(own).toBe(name);
});
