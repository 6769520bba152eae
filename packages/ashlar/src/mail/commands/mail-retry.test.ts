import { expect, test } from "vitest";
import type { CommandContext } from "../../boot/index.ts";
import { run } from "./mail-retry.ts";

/** Runs the command with this many abandoned mails. */
async function retry(args: readonly string[], count: number) {
  const asked: unknown[] = [];
  const lines: string[] = [];
  const outbox = {
    retry: async (ids: unknown) => {
      asked.push(ids);
      return count;
    },
  };
  const container = { make: () => ({ outbox: async () => outbox }) };
  const print = (line = "") => void lines.push(line);
  const done = run({ args, print, application: async () => ({ container }) } as unknown as CommandContext);
  return { done, asked, lines };
}

test.each([
  [
    ["12", "15"],
    ["12", "15"],
  ],
  [["--all"], null],
])("%j is retried", async (args, ids) => {
  const { done, asked, lines } = await retry(args, 2);
  await done;
  expect([asked, lines]).toEqual([[ids], ["2 mails will be sent again by the servers, or by npx ashlar mail:work."]]);
});

test("an empty list is not an error", async () => {
  const { done, lines } = await retry(["--all"], 0);
  await done;
  expect(lines).toEqual(["0 mails will be sent again by the servers, or by npx ashlar mail:work."]);
});

test.each([[[]], [["--all", "12"]], [["12", "x"]], [["-1"]], [["1".repeat(19)]]])(
  "%j is refused, without reading the outbox",
  async (args) => {
    const { done, asked } = await retry(args, 1);
    await expect(done).rejects.toMatchObject({
      code: "E_COMMAND",
      message: expect.stringContaining("mail:failed shows"),
    });
    expect(asked).toEqual([]);
  },
);

test.each([
  [["12"], "No mail with the number 12 was abandoned."],
  [["12", "15"], "None of these mails was abandoned."],
])("%j that were not abandoned are an error", async (args, message) => {
  const { done } = await retry(args, 0);
  await expect(done).rejects.toMatchObject({ code: "E_COMMAND", message: expect.stringContaining(message) });
});

test("--waiting makes mails that wait for their next attempt due", async () => {
  const lines: string[] = [];
  const container = { make: () => ({ outbox: async () => ({ hurry: async () => 3 }) }) };
  const print = (line = "") => void lines.push(line);
  await run({ args: ["--waiting"], print, application: async () => ({ container }) } as unknown as CommandContext);
  expect(lines).toEqual(["3 mails will be sent now by the servers, or by npx ashlar mail:work."]);
});
