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

test("the first signal counts as the cause of an interruption, whatever follows", () => {
  const program = `
    import { Interruption } from ${url("interruption.ts")};
    const interruption = new Interruption();
    const waiting = setInterval(() => {}, 1000);
    for (const signal of ["SIGTERM", "SIGINT"]) {
      const received = new Promise((resolve) => interruption.onSignal(resolve));
      process.kill(process.pid, signal);
      console.log(await received, interruption.cause);
    }
    clearInterval(waiting);
    interruption.end();`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect([ended.stdout, ended.stderr]).toEqual(["SIGTERM SIGTERM\nSIGINT SIGTERM\n", ""]);
});

describe("a program that ignores the signal", () => {
  /** Runs one that ends only by SIGKILL, and signals this process when the program says that it is ready. */
  const interrupted = (change: string, signals: readonly string[]): string => `
    import { existsSync, mkdtempSync, rmSync } from "node:fs";
    import { tmpdir } from "node:os";
    import { join } from "node:path";
    ${change}
    const { Interruption } = await import(${url("interruption.ts")});
    const { run } = await import(${url("run.ts")});
    const folder = mkdtempSync(join(tmpdir(), "create-ashlar-"));
    const signals = ${JSON.stringify(signals)};
    const ignoring = \`
      const { writeFileSync } = require("node:fs");
      process.on("SIGINT", () => writeFileSync("ignored", ""));
      setInterval(() => {}, 1000);
      writeFileSync("ready", "");\`;
    const interruption = new Interruption();
    const running = run(folder, { command: process.execPath, args: ["--eval", ignoring] }, interruption);
    const watching = setInterval(() => {
      if (!existsSync(join(folder, signals.length === ${signals.length} ? "ready" : "ignored"))) return;
      if (signals.length === 0) return clearInterval(watching);
      process.kill(process.pid, signals.shift());
    }, 10);
    const { problem } = await running;
    clearInterval(watching);
    rmSync(folder, { recursive: true });
    console.log(problem);`;

  /** Runs a program whose timers are set as this says. */
  const ended = (timer: string, signals: readonly string[]) => {
    const change = `
      const { setTimeout: wait } = globalThis;
      globalThis.setTimeout = (listener, time) => ${timer};`;
    const args = ["--input-type=module", "--eval", interrupted(change, signals)];
    const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 50_000 });
    return [signal, stdout, stderr];
  };

  test("is killed by the second one, before its time is up", () => {
    expect(ended("wait(listener, 2 ** 30)", ["SIGINT", "SIGINT"])).toEqual([null, "SIGINT\n", ""]);
  });

  test("is killed after ten seconds", () => {
    expect(ended('(console.log("after", time), wait(listener, 0))', ["SIGINT"])).toEqual([
      null,
      "after 10000\nSIGINT\n",
      "",
    ]);
  });
});
