import { expect, test } from "vitest";
import type { CommandContext } from "../../boot/index.ts";
import { run } from "./mail-discard.ts";

/** Runs the command with this many waiting mails. */
function discard(args: readonly string[], waiting: number) {
  const lines: string[] = [];
  const container = { make: () => ({ outbox: async () => ({ counts: async () => ({ waiting, failed: 0 }) }) }) };
  const print = (line = "") => void lines.push(line);
  return run({ args, print, application: async () => ({ container }) } as unknown as CommandContext);
}

test.each([[[]], [["--yes"]], [["--waiting", "12"]], [["--all", "--waiting"]]])("%j is refused", async (args) => {
  await expect(discard(args, 1)).rejects.toMatchObject({
    code: "E_COMMAND",
    message: expect.stringContaining("Usage"),
  });
});

test.each([
  [1, "This deletes 1 mail that waits, unsent. Nothing was done. Add --yes to do it."],
  [12, "This deletes 12 mails that wait, unsent. Nothing was done. Add --yes to do it."],
])("without --yes, it only reports how many mails wait: %d", async (waiting, message) => {
  await expect(discard(["--waiting"], waiting)).rejects.toMatchObject({ code: "E_COMMAND", message });
});
