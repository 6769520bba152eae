import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("S97 of 20 concurrent renewals in two processes, in each of 20 rounds, one creates the successor, and no user is locked out", () => {
  const script = join(import.meta.dirname, "token-rounds.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, "--rounds", "20"], { encoding: "utf8" });
  expect([status, stderr, stdout]).toEqual([
    0,
    "",
    expect.stringMatching(/^20 rounds of 20 on sqlite in \d+ s: 0 failures\n$/),
  ]);
});
