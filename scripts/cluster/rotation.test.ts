import { expect, test } from "vitest";
import { withOwnPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { withProgram } from "../../packages/ashlar/test/support/system-programs.ts";
import { rotate } from "./rotation.ts";

withOwnPostgres("passwords of PostgreSQL, Redis and the mail server", () => {
  withProgram("haproxy", () => {
    withProgram("redis-server", () => {
      test("are replaced under requests, and none fails or is sent with a former password", async () => {
        const { row, failures, failed, left } = await rotate({ afterMs: 200, rounds: 1, people: 2 });
        expect([failures, failed, left]).toEqual([[], {}, 0]);
        expect(row).toMatchObject({ faults: 3, "not acknowledged": "none" });
      }, 400_000);
    });
  });
});
