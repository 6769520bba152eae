import { expect, test } from "vitest";
import { withProgram } from "../../packages/ashlar/test/support/system-programs.ts";
import { type RollingOptions, roll } from "./rolling.ts";

const SMALL = { requests: 200, rounds: 1, visitors: 3, pauseMs: 50 };

async function rolled(options: Pick<RollingOptions, "proxy" | "update">): Promise<void> {
  const { requests, forms, failed, updates, exitCodes } = await roll({ ...SMALL, ...options });
  expect([failed, exitCodes]).toEqual([{}, options.update === "restart" ? [0] : []]);
  expect(requests).toBeGreaterThanOrEqual(SMALL.requests);
  expect([forms > 0, updates]).toEqual([true, expect.any(Number)]);
}

withProgram("haproxy", () => {
  test("S50 no form is lost while two instances restart behind HAProxy, as the manual configures it", () =>
    rolled({ proxy: "haproxy", update: "restart" }));
});

withProgram("nginx", () => {
  test("S50 no form is lost while the workers of two instances are replaced behind nginx, as the manual configures it", () =>
    rolled({ proxy: "nginx", update: "reload" }));
});
