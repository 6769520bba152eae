import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";

const RUN = JSON.stringify(pathToFileURL(join(import.meta.dirname, "run.ts")));

describe("a signal ends this process again", () => {
  test.each(
    ["SIGINT", "SIGTERM"].flatMap((signal) => [
      { signal, when: "has failed", command: process.execPath, outcome: "exit code 3" },
      { signal, when: "was not found", command: "no-such-program", outcome: "no-such-program was not found" },
    ]),
  )("$signal, once a program $when", ({ signal, command, outcome }) => {
    const program = `
      import { run } from ${RUN};
      console.log(await run(".", { command: ${JSON.stringify(command)}, args: ["--eval", "process.exitCode = 3"] }));
      process.kill(process.pid, "${signal}");
      console.log("still running");`;
    const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
    expect([ended.signal, ended.stdout, ended.stderr]).toEqual([signal, `${outcome}\n`, ""]);
  });
});
