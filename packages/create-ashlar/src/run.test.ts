import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { run } from "./run.ts";

test.each<[string, string, readonly string[], string | null]>([
  ["succeeds", process.execPath, ["--eval", ""], null],
  ["fails", process.execPath, ["--eval", "process.exitCode = 3"], "exit code 3"],
  ["is killed", process.execPath, ["--eval", "process.kill(process.pid, 'SIGKILL')"], "SIGKILL"],
  ["does not exist", "no-such-program", [], "no-such-program was not found"],
])("a program that %s leaves no handlers of signals behind", async (_, command, args, reason) => {
  const handlers = () => ["SIGINT", "SIGTERM"].map((signal) => process.listenerCount(signal));
  const before = handlers();
  const running = run(tmpdir(), { command, args: [...args] });
  expect(handlers()).toEqual(before.map((count) => count + 1));
  expect(await running).toBe(reason);
  expect(handlers()).toEqual(before);
});
