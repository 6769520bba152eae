import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const WORKFLOWS = join(import.meta.dirname, "../../../../.github/workflows");

test("every workflow action is pinned to a commit, with its version beside it, because a tag can be moved", () => {
  const uses = readdirSync(WORKFLOWS).flatMap((file) => {
    const text = readFileSync(join(WORKFLOWS, file), "utf8");
    return [...text.matchAll(/uses:\s*(.*)$/gm)].map(([, action]) => action!);
  });
  expect(uses.length).toBeGreaterThan(4);
  expect(uses.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
});
