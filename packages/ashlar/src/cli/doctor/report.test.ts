import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { error, warning } from "./finding.ts";
import { printReport } from "./report.ts";

/** The report printed for people, without colors. */
function printed(diagnosis: Parameters<typeof printReport>[1]): string[] {
  const lines: string[] = [];
  const print = (line = ""): void => void lines.push(stripVTControlCharacters(line));
  printReport({ root: "/shop", print, printError: print }, diagnosis);
  return lines;
}

test("a remedy for people says what to remove, which lines to add, what to run, and what else to know", () => {
  const complete = error("routes.csrf", {
    file: "routes/web.ts",
    line: 7,
    problem: "POST /orders is open.",
    in: "app/kernel.ts",
    remove: ".withoutMiddleware()",
    lines: ["// in routeMiddleware:", "api: [],"],
    run: "npx ashlar routes",
    note: "Then test it.",
  });
  const bare = warning("boot.warning", { problem: "Something is odd." });
  expect(
    printed({
      environment: null,
      sections: [
        { name: "Nothing", findings: [] },
        { name: "Routes", findings: [complete, bare] },
      ],
      skipped: [{ check: "Repository", reason: "git is not installed" }],
      notes: ["A note."],
    }),
  ).toEqual([
    "Checked as an unknown environment.",
    "",
    "Routes",
    "  error routes/web.ts:7: POST /orders is open. [routes.csrf]",
    "    In app/kernel.ts, remove: .withoutMiddleware()",
    "    In app/kernel.ts:",
    "      // in routeMiddleware:",
    "      api: [],",
    "    Run: npx ashlar routes",
    "    Then test it.",
    "  warning Something is odd. [boot.warning]",
    "",
    "Not checked, because git is not installed: Repository",
    "A note.",
    "1 error, 1 warning",
  ]);
});
