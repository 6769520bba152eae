import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";

const url = (file: string): string => JSON.stringify(pathToFileURL(join(import.meta.dirname, file)));

describe("a signal ends this process again", () => {
  test.each(
    ["SIGINT", "SIGTERM", "SIGHUP"].flatMap((signal) => [
      { signal, when: "has failed", command: process.execPath, outcome: "exit code 3" },
      { signal, when: "was not found", command: "no-such-program", outcome: "no-such-program was not found" },
    ]),
  )("$signal, once a program $when", ({ signal, command, outcome }) => {
    const program = `
      import { Interruption } from ${url("interruption.ts")};
      import { run } from ${url("run.ts")};
      const interruption = new Interruption();
      const args = ["--eval", "process.exitCode = 3"];
      console.log((await run(".", { command: ${JSON.stringify(command)}, args }, interruption)).problem);
      interruption.end();
      process.kill(process.pid, "${signal}");
      console.log("still running");`;
    const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
    expect([ended.signal, ended.stdout, ended.stderr]).toEqual([signal, `${outcome}\n`, ""]);
  });
});

test("after an interruption, no program is started", () => {
  const program = `
    import { Interruption } from ${url("interruption.ts")};
    import { run } from ${url("run.ts")};
    const interruption = new Interruption();
    // A signal alone does not keep the process running.
    const waiting = setInterval(() => {}, 1000);
    process.kill(process.pid, "SIGTERM");
    await new Promise((resolve) => interruption.onSignal(resolve));
    clearInterval(waiting);
    console.log((await run(".", { command: "echo", args: ["started"] }, interruption)).problem);
    interruption.end();`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect([ended.stdout, ended.stderr]).toEqual(["SIGTERM\n", ""]);
});
