import { expect, test } from "vitest";
import { withProgram } from "../../packages/ashlar/test/support/system-programs.ts";
import { overload, startSite } from "./overload.ts";
import { undoing } from "./undoing.ts";

const SHORT = { saturationMs: 500, onsetMs: 500, overloadMs: 1500, calmMs: 500 };
const LOAD = { path: "/busy/10", factor: 3, connections: 400, keeps: true };

/** What two instances can certainly not carry at three times the rate, however quick the machine is. */
const CAPACITY = 200;

function overloaded(proxy: Parameters<typeof startSite>[2], workers: number): Promise<void> {
  return undoing(async (undo) => {
    const site = await startSite(undo, { framework: "ashlar", workers }, proxy);
    const { onset, overload: during, calm } = await overload(site, LOAD, CAPACITY, SHORT);
    for (const phase of [onset, during, calm]) expect([phase.failed, phase.never]).toEqual([{}, 0]);
    expect([during.answered > 0, during.refused > 0]).toEqual([true, true]);
    const lines = site.log().split("\n");
    // At most a line when it begins for each process, however many were refused.
    expect(lines.filter((line) => line.includes("Requests are refused")).length).toBeLessThanOrEqual(2 * (workers + 1));
    expect(lines.filter((line) => line.includes('"stack"'))).toEqual([]);
  });
}

withProgram("nginx", () => {
  test.each([0, 2])(
    "S150 an overload behind nginx, with %i workers, is refused in part, and every request gets a response",
    (workers) => overloaded("nginx", workers),
  );
});

withProgram("haproxy", () => {
  test("S150 an overload behind HAProxy is refused in part, and every request gets a response", () =>
    overloaded("haproxy", 2));
});
