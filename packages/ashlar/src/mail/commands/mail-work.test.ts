import { expect, onTestFinished, test, vi } from "vitest";
import type { CommandContext } from "../../boot/index.ts";
import { run } from "./mail-work.ts";

type Listener = (signal: string) => void;

const listenersOf = (signal: string): Listener[] => process.rawListeners(signal as never) as never;

test.each(["SIGTERM", "SIGINT"])(
  "it sends until %s, keeps the process alive, and leaves nothing behind",
  async (signal) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const signals = ["SIGTERM", "SIGINT"];
    const before = signals.map(listenersOf);
    const lines: string[] = [];
    const waiting = [3, 1];
    const outbox = { counts: async () => ({ waiting: waiting.shift(), failed: 0 }), start: vi.fn() };
    const container = { make: () => ({ outbox: async () => outbox }) };
    const print = (line = "") => void lines.push(line);
    const done = run({ args: [], print, application: async () => ({ container }) } as unknown as CommandContext);
    await vi.waitUntil(() => lines.length > 0);
    expect(lines).toEqual(["Sending mails, 3 of them waiting. Stop with Ctrl+C."]);
    expect([outbox.start.mock.calls.length, vi.getTimerCount()]).toEqual([1, 1]);
    const theirs = before[signals.indexOf(signal)]!;
    for (const listener of listenersOf(signal)) if (!theirs.includes(listener)) listener(signal);
    await done;
    expect(lines.at(-1)).toBe("Stopped. 1 mail waiting.");
    expect([signals.map(listenersOf), vi.getTimerCount()]).toEqual([before, 0]);
  },
);
