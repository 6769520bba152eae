import { expect, onTestFinished, test, vi } from "vitest";

/** Loads the module again, with a `node:sqlite` that prints its own warnings. */
async function loadWarning(warn: () => void): Promise<unknown[][]> {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const told: unknown[][] = [];
  const emit = vi.spyOn(process, "emitWarning").mockImplementation((...args: unknown[]) => void told.push(args));
  const load = vi.spyOn(process, "getBuiltinModule").mockImplementation(() => {
    warn();
    return sqlite;
  });
  onTestFinished(() => {
    emit.mockRestore();
    load.mockRestore();
  });
  const again = "./node-sqlite.ts?again";
  const { DatabaseSync } = await import(/* @vite-ignore */ again);
  expect(DatabaseSync).toBe(sqlite.DatabaseSync);
  process.emitWarning("later", "ExperimentalWarning");
  return told;
}

test("the warning of the database that comes with Node is suppressed, and every other one is printed", async () => {
  const experimental = "SQLite is an experimental feature and might change at any time";
  const told = await loadWarning(() => {
    process.emitWarning(experimental, "ExperimentalWarning");
    process.emitWarning("another", "ExperimentalWarning");
  });
  expect(told).toEqual([
    ["another", "ExperimentalWarning"],
    ["later", "ExperimentalWarning"],
  ]);
  process.emitWarning(experimental);
  expect(told.at(-1)).toEqual([experimental]);
});
