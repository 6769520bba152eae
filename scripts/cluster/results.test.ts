import { expect, test } from "vitest";
import { withResults } from "./results.ts";
import type { Outcome, Scenario } from "./scenario.ts";

const scenario = (name: string): Scenario => ({
  name,
  title: `About ${name}`,
  about: "What is done, and counted.",
  seconds: 1,
  run: () => Promise.reject(new Error("not run")),
});
const outcome = (sent: number): Outcome => ({
  versions: { nginx: "1.22.1", HAProxy: "2.6.12" },
  rows: [{ proxy: "nginx", sent }],
  failures: [],
});

test("the results of a scenario are appended, and later results replace only them", () => {
  const first = withResults("# Operations\n\nText.\n", scenario("a"), outcome(20_000), "2026-11-25");
  expect(first).toBe(`# Operations

Text.

<!-- begin a -->

## About a

What is done, and counted.

| proxy | sent |
|---|--:|
| nginx | 20,000 |

Run on 2026-11-25 with nginx 1.22.1, HAProxy 2.6.12.

<!-- end a -->
`);
  const both = withResults(first, scenario("b"), outcome(1), "2026-11-25");
  expect(withResults(both, scenario("a"), outcome(30_000), "2026-11-26")).toBe(
    both.replace("20,000", "30,000").replace("2026-11-25", "2026-11-26"),
  );
});
