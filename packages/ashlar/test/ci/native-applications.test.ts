import { readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test, vi } from "vitest";
import { generatedApplication } from "../support/generated-application.ts";

const PUBLIC = join(import.meta.dirname, "../../src/public");

/** Loads a module of a new application, which reports its imports, and whether Vitest has transformed it. */
async function loaded(): Promise<{
  readonly Model: unknown;
  readonly Route: unknown;
  readonly isTransformed: boolean;
}> {
  const root = await generatedApplication({ pages: false, api: false });
  const file = join(root, "app/told.ts");
  const told = [
    'export { Route } from "ashlar";',
    'export { Model } from "ashlar/database";',
    "export const isTransformed = (import.meta as { env?: object }).env !== undefined;",
  ];
  await writeFile(file, told.join("\n"));
  return await import(file);
}

/** The tests' own modules. */
async function own(): Promise<{ readonly Model: unknown; readonly Route: unknown }> {
  const { Model } = await import("../../src/public/database.ts");
  const { Route } = await import("../../src/public/index.ts");
  return { Model, Route };
}

test("modules of generated applications are loaded by Node, with the framework of the tests", async () => {
  const { Model, Route } = await own();
  expect({ ...(await loaded()) }).toEqual({ Model, Route, isTransformed: false });
});

test("once a test has reset modules, applications have the framework that is loaded after that", async () => {
  const before = await own();
  vi.resetModules();
  // As the set-up of the next test file does.
  await import("../support/native-applications.ts");
  const { Model, Route } = await own();
  expect(Model).not.toBe(before.Model);
  expect(await loaded()).toMatchObject({ Model, Route });
});

test("applications can import all that the framework's modules export", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  const files = await readdir(PUBLIC);
  const namespaces = files.map((file) => `export * as ${nameOf(file)} from "${specifierOf(file)}";`);
  await writeFile(join(root, "app/all.ts"), namespaces.join("\n"));
  const all = (await import(join(root, "app/all.ts"))) as Record<string, object>;
  for (const file of files) {
    const exported = (await import(join(PUBLIC, file))) as object;
    expect(Object.keys(all[nameOf(file)]!).sort(), file).toEqual(Object.keys(exported).sort());
  }
});

function nameOf(file: string): string {
  return basename(file, ".ts").replaceAll("-", "_");
}

function specifierOf(file: string): string {
  return file === "index.ts" ? "ashlar" : `ashlar/${basename(file, ".ts")}`;
}
