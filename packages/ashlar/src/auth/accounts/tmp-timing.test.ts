import { expect, test } from "vitest";
import { ADA, testAccounts } from "../../../test/support/account-application.ts";
import { onEachDatabase } from "../../../test/support/services.ts";

const median = (xs: number[]) => xs.toSorted((a, b) => a - b)[Math.floor(xs.length / 2)]!;
await onEachDatabase("timing", (engine) => {
  test("x", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = accounts.visitor();
    for (let round = 0; round < 5; round++) {
      const times: Record<string, number[]> = { known: [], unknown: [] };
      for (let i = 0; i < 150; i++) {
        const pair = [
          ["known", ADA.email],
          ["unknown", `eve@example.com`],
        ] as const;
        for (const [k, email] of i % 2 ? pair : pair.toReversed()) {
          const t = performance.now();
          await visitor.post("/change_password", { email });
          times[k]!.push(performance.now() - t);
          await accounts.mails();
        }
      }
      console.log(
        engine.name,
        median(times.known!),
        median(times.unknown!),
        median(times.known!) / median(times.unknown!),
      );
    }
    expect(1).toBe(1);
  });
});
