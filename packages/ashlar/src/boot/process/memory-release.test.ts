import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { createLogger } from "../log/create-logger.ts";
import { MemoryRelease } from "./memory-release.ts";

const MB = 1024 * 1024;

/** Which of several successive periods ends with a release, depending on how busy each was. */
function released(utilizations: readonly number[], heapBytes = 20 * MB): boolean[] {
  const settings = { name: "test", environment: "test", log: { level: "silent", requests: false } } as const;
  const release = new MemoryRelease(createLogger(settings));
  return utilizations.map((utilization) => release.isDue(utilization, heapBytes));
}

test("memory is returned once when a busy server becomes idle", () => {
  expect(released([1, 0, 0, 0.9, 0.3, 0.01, 0])).toEqual([false, true, false, false, false, true, false]);
});

test("a server that is busy, or between busy and idle, or was never busy, keeps its memory", () => {
  expect(released([1, 0.5, 0.1, 1, 0.06])).toEqual([false, false, false, false, false]);
  expect(released([0, 0.1, 0, 0.19, 0])).toEqual([false, false, false, false, false]);
});

test("a server that becomes idle slowly returns memory when it is", () => {
  expect(released([1, 0.1, 0.1, 0.04])).toEqual([false, false, false, true]);
});

test("a large heap is left alone, because its collection would take long", () => {
  expect(released([1, 0, 0], 65 * MB)).toEqual([false, false, false]);
});

test("releasing memory removes garbage, shrinks the heap, keeps what is in use and leaves no global function", () => {
  const module = pathToFileURL(join(import.meta.dirname, "memory-release.ts")).href;
  const script = `
    const { releaseMemory } = await import(${JSON.stringify(module)});
    const garbage = Array.from({ length: 200 }, () => Array.from({ length: 20_000 }, (_, index) => ({ index })));
    const kept = garbage[7];
    const before = process.memoryUsage();
    garbage.length = 0;
    releaseMemory();
    const { heapTotal, heapUsed, rss } = process.memoryUsage();
    console.log(JSON.stringify([
      (before.heapTotal - heapTotal) / ${MB} > 60, before.heapUsed - heapUsed > 60 * ${MB}, (before.rss - rss) / ${MB} > 60,
      kept.length, typeof gc, process.getBuiltinModule("node:vm").runInNewContext("typeof gc"),
    ]));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
  expect(JSON.parse(output)).toEqual([true, true, true, 20_000, "undefined", "undefined"]);
});
