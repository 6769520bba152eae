import { expect, test } from "vitest";
import { withOwnPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { withProgram } from "../../packages/ashlar/test/support/system-programs.ts";
import { kill } from "./kills.ts";

withProgram("haproxy", () => {
  withOwnPostgres("processes that are killed", () => {
    test("S50 nothing that was acknowledged is lost, and nothing that has ended is accepted", async () => {
      const { row, failures } = await kill({ kills: 3, everyMs: 1000, instanceEach: 3, people: 2 });
      expect([failures, row.lost, row["wrongly admitted"], row.faults]).toEqual([[], 0, 0, 3]);
      expect(row.acknowledged).toBeGreaterThan(5);
    });
  });
});
