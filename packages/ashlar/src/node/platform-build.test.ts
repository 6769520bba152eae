import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { withBuiltins, withLateInheritance } from "../../build/platform.ts";
import { INHERITED, type PlatformClass } from "./inherit-late.ts";

const ADAPTER = createRequire(import.meta.url).resolve("srvx/node");

/** The JSON output of a module that can use srvx's classes before they inherit from the platform's. */
async function printed(module: string): Promise<Readonly<Record<PlatformClass, readonly string[]>>> {
  const folder = await mkdtemp(join(tmpdir(), "late-"));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  const adapter = withLateInheritance(await readFile(ADAPTER, "utf8")).replaceAll(
    /from "(\.\.\/[^"]+)"/g,
    (_, path: string) => `from "${new URL(path, pathToFileURL(ADAPTER)).href}"`,
  );
  const classes = "const classes = {}; const inheritLate = (name, late) => { classes[name] = late; };\n";
  await writeFile(join(folder, "module.mjs"), `${classes}${adapter}\n${module}`);
  return JSON.parse(execFileSync(process.execPath, [join(folder, "module.mjs")], { encoding: "utf8" }));
}

test("what srvx's classes only inherit is known for each of them", async () => {
  const missing = await printed(`
    const missing = {};
    for (const [name, late] of Object.entries(classes)) {
      const names = Object.getOwnPropertyNames(globalThis[name].prototype);
      missing[name] = names.filter((one) => !Object.hasOwn(late.prototype, one)).sort();
    }
    console.log(JSON.stringify(missing));`);
  for (const name of ["Headers", "Request", "Response"] as const) {
    expect(missing[name].length).toBeGreaterThan(5);
    expect(INHERITED[name]).toEqual(expect.arrayContaining([...missing[name]]));
  }
});

test("a differently written srvx fails the build", () => {
  expect(() => withLateInheritance("export class NodeResponse extends Response {}")).toThrow("0 of 7 places found");
});

test("imports of built-in modules become the modules themselves, and all other imports stay", () => {
  const code = [
    `import { a, b as c } from "node:http";`,
    `import whole from "node:fs/promises";`,
    `import all, { some } from "node:path";`,
    `import * as everything from "node:os";`,
    `import "node:http2";`,
    `import process from "node:process";`,
    `import { a } from "./chunk.js";`,
    `import cookie from "cookie";`,
  ];
  expect(withBuiltins(code.join("\n")).split("\n")).toEqual([
    `const { a, b: c } = globalThis.process.getBuiltinModule("node:http");`,
    `const whole = globalThis.process.getBuiltinModule("node:fs/promises");`,
    `const all = globalThis.process.getBuiltinModule("node:path"); const { some } = globalThis.process.getBuiltinModule("node:path");`,
    `const everything = globalThis.process.getBuiltinModule("node:os");`,
    ``,
    // `process` alone would be the constant itself.
    `const process = globalThis.process.getBuiltinModule("node:process");`,
    `import { a } from "./chunk.js";`,
    `import cookie from "cookie";`,
  ]);
});
