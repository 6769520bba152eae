import { expect } from "vitest";
import { ADA, testAccounts } from "../../../test/support/account-application.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { test } from "vitest";
const median = (xs: number[]) => xs.toSorted((a, b) => a - b)[Math.floor(xs.length / 2)]!;
await onEachDatabase("timing", (engine) => {
  test("x", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = accounts.visitor();
    for (let round = 0; round < 5; round++) {
      const times: Record<string, number[]> = { known: [], unknown: [] };
      for (let i = 0; i < 150; i++) {
        for (const [k, email] of [["known", ADA.email], ["unknown", `nobody${i}@example.com`]] as const) {
          const t = performance.now();
          await visitor.post("/change_password", { email });
          times[k]!.push(performance.now() - t);
          await accounts.mails();
        }
      }
      console.log(engine.name, median(times.known!), median(times.unknown!), median(times.known!) / median(times.unknown!));
    }
    expect(1).toBe(1);
  });
});
