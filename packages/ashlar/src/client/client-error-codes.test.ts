import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "..");

/** The members of an interface in the file with the codes: their names and types. */
function members(name: string): Record<string, number> {
  const text = readFileSync(join(import.meta.dirname, "client-error-codes.ts"), "utf8");
  const [, body = ""] = new RegExp(`interface ${name} \\{([^}]*)\\}`).exec(text) ?? [];
  return Object.fromEntries(
    [...body.matchAll(/^ {2}(E_\w+): (\w+);$/gm)].map(([, code, type]) => [code, Number(type)]),
  );
}

/** The codes that the framework declares, with their statuses. */
function declared(): [code: string, status: number][] {
  const files = globSync("**/*.ts", { cwd: SOURCE }).filter((file) => !/\.test\.ts$|^client[\\/]/.test(file));
  const texts = files.map((file) => readFileSync(join(SOURCE, file), "utf8"));
  const found = texts.flatMap((text) => [...text.matchAll(/^ {2}(E_[A-Z_]+): \[(\d{3}), /gm)]);
  return found.map(([, code, status]) => [code!, Number(status)]);
}

test("the client knows each code that the server responds with, and its status", () => {
  const shown = declared().filter(([code, status]) => status !== 500 || code === "E_INTERNAL");
  expect(members("ServerCodes")).toEqual(Object.fromEntries(shown));
  expect(shown.length).toBeGreaterThan(30);
});

test("the client's own codes differ from the server's", () => {
  const own = Object.keys(members("OwnCodes"));
  expect(own.length).toBe(5);
  expect(declared().filter(([code]) => own.includes(code))).toEqual([]);
});
