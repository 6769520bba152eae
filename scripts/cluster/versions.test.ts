import { expect, test } from "vitest";
import { withProgram } from "../../packages/ashlar/test/support/system-programs.ts";
import { deployVersions } from "./versions.ts";

withProgram("haproxy", () => {
  test("two versions respond side by side in a step of the guide, and when it is rolled back, and no request fails", {
    timeout: 240_000,
  }, async () => {
    const deployments = await deployVersions({ path: [1, 2, 1], people: 2, beside: 40, settleMs: 1000 });
    expect(deployments.map(({ from, to, isBack }) => [from, to, isBack])).toEqual([
      ["expand", "copy", false],
      ["copy", "expand", true],
    ]);
    for (const { from, to, counts } of deployments) {
      expect(counts.failed).toEqual({});
      expect(Object.keys(counts.versions).sort()).toEqual([from, to].sort());
    }
  });
});
