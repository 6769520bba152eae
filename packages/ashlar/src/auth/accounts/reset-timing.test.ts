import { expect, test } from "vitest";
import { ADA, type TestAccounts, testAccounts } from "../../../test/support/account-application.ts";
import { median } from "../../../test/support/median.ts";
import { onEachDatabase } from "../../../test/support/services.ts";

const TRIES = 150;
/** A machine that does other things meanwhile can spoil a measurement, never make two different times alike. */
const MEASUREMENTS = 5;

/** How many times longer an address with an account takes than one without, by the medians. */
async function ratio(accounts: TestAccounts): Promise<number> {
  const visitor = accounts.visitor();
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let index = 0; index < TRIES; index++) {
    const pair = [["known", ADA.email] as const, ["unknown", "nobody@example.com"] as const];
    for (const [kind, email] of index % 2 === 0 ? pair : pair.toReversed()) {
      const start = performance.now();
      await visitor.post("/change_password", { email });
      times[kind].push(performance.now() - start);
      await accounts.mails();
    }
  }
  return median(times.known) / median(times.unknown);
}

await onEachDatabase("asking for a reset link", (engine) => {
  test("S32 takes as long for an unknown address: the medians are within 10 %", async () => {
    const accounts = await testAccounts({ engine });
    const ratios: number[] = [];
    // The first one warms up.
    for (let time = 0; time <= MEASUREMENTS; time++) {
      ratios.push(await ratio(accounts));
      if (time > 0 && Math.abs(ratios.at(-1)! - 1) <= 0.1) return;
    }
    expect.fail(`An address with an account takes ${ratios.join(", ")} times as long as one without.`);
  });
});
