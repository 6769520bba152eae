import { expect, test } from "vitest";
import type { CommandContext } from "../../boot/index.ts";
import { run } from "./mail-failed.ts";

const mail = {
  id: "7",
  kind: "mail",
  mailable: "Welcome",
  message: { to: [{ address: "ada@example.com" }], cc: [{ address: "bob@example.com" }], bcc: [] },
  failedAt: new Date("2026-03-01T12:00:00Z"),
  attempts: 2,
  reason: "No such mailbox.",
};
const promise = {
  ...mail,
  id: "8",
  kind: "greeting",
  mailable: null,
  message: null,
  attempts: 1,
  reason: "E_DATABASE",
};

/** The command's output for these counts and mails. */
async function printed(failed: number, waiting: number, mails: readonly object[] = [], lost = 0): Promise<string[]> {
  const lines: string[] = [];
  const outbox = {
    counts: async () => ({ failed, waiting }),
    failed: async (limit: number) => mails.slice(0, limit),
    lost: async () => lost,
  };
  const container = { make: () => ({ outbox: async () => outbox }) };
  const print = (line = "") => void lines.push(line);
  await run({ args: [], print, application: async () => ({ container }) } as unknown as CommandContext);
  return lines;
}

test("without abandoned mails, one line has the counts", async () => {
  expect(await printed(0, 1)).toEqual(["0 mails could not be sent, 1 mail waiting."]);
});

test("each mail has its number, its recipients and the reason, and promised work its name", async () => {
  expect(await printed(2, 3, [mail, promise])).toEqual([
    "7  2026-03-01T12:00:00.000Z  Welcome to ada@example.com, bob@example.com",
    "    2 attempts. No such mailbox.",
    "8  2026-03-01T12:00:00.000Z  greeting",
    "    1 attempt. E_DATABASE",
    "",
    "2 mails could not be sent, 3 mails waiting.",
    "Send them again: npx ashlar mail:retry <id…>, or npx ashlar mail:retry --all",
  ]);
});

test("those that were sealed with a lost key are counted, and named if they were abandoned", async () => {
  expect(await printed(0, 1, [], 1)).toEqual([
    "0 mails could not be sent, 1 mail waiting.",
    "1 mail can't be opened: APP_KEY has been replaced, and APP_PREVIOUS_KEYS lacks the key that sealed it.",
  ]);
  expect(await printed(1, 1, [{ ...mail, message: null }], 2)).toEqual([
    "7  2026-03-01T12:00:00.000Z  Welcome, which can't be opened",
    "    2 attempts. No such mailbox.",
    "",
    "1 mail could not be sent, 1 mail waiting.",
    "2 mails can't be opened: APP_KEY has been replaced, and APP_PREVIOUS_KEYS lacks the key that sealed them.",
    "Send them again: npx ashlar mail:retry <id…>, or npx ashlar mail:retry --all",
  ]);
});

test("two hundred are listed, and the others counted", async () => {
  const all = await printed(200, 0, Array(200).fill(mail));
  expect([all.length, all.join().includes("more")]).toEqual([403, false]);
  const more = await printed(201, 0, Array(201).fill(mail));
  expect([more.length, more[400]]).toEqual([404, "… and 1 more."]);
});
