import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import timers from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { FolderWatcher } from "../../src/cli/watch/folder-watcher.ts";
import { supervise } from "../../src/cli/watch/supervise.ts";
import { folderWith } from "../support/temporary-folder.ts";

/** The beginning of each application: it logs when it starts, and when it shuts down gracefully. */
const TELLING = `
import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
const tell = (what) => appendFileSync(import.meta.dirname + "/told.log", what + " " + process.pid + "\\n");
process.on("exit", () => tell("ends"));
tell("begins");
`;
/** An application that ignores every message. */
const HANGING = `${TELLING}Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
/** The end of an application that runs until it is asked to stop. */
const WAITING = `setInterval(() => {}, 60_000);\nawait new Promise(() => {});`;

interface Supervised {
  readonly root: string;
  /** The supervisor's output. */
  readonly printed: readonly string[];
  /** Settles when the supervisor has ended. */
  readonly ended: Promise<void>;
  /** Sends the supervisor a signal. */
  signal(name: "SIGINT" | "SIGTERM"): void;
  /** The applications' log so far, without process ids. */
  told(): string[];
}

/** Makes this process the supervisor of an application until the test ends. */
async function supervised(program: string): Promise<Supervised> {
  const root = folderWith({ "app.ts": program });
  const others = { SIGINT: process.listeners("SIGINT"), SIGTERM: process.listeners("SIGTERM") };
  const printed: string[] = [];
  const ended = supervise({ root, print: (line = "") => void printed.push(line), printError: () => {} }, []);
  const signal = (name: "SIGINT" | "SIGTERM"): void => {
    for (const listener of process.listeners(name)) if (!others[name].includes(listener)) listener(name);
  };
  const log = join(root, "told.log");
  const lines = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  onTestFinished(() => {
    for (const line of lines()) {
      try {
        process.kill(Number(line.split(" ")[1]), "SIGKILL");
      } catch {
        // It has ended, as it should.
      }
    }
  });
  const told = () => lines().map((line) => line.split(" ")[0]!);
  await expect.poll(told).toEqual(["begins"]);
  return { root, printed, ended, signal, told };
}

/** Stops the clock. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("an application that hangs is killed five seconds after the signal", async () => {
  const { ended, signal, told } = await supervised(HANGING);
  stopClock();
  signal("SIGTERM");
  await vi.advanceTimersByTimeAsync(5000);
  await ended;
  expect(told()).toEqual(["begins"]);
});

test("a second Ctrl+C kills an application that hangs immediately", async () => {
  const { ended, signal } = await supervised(HANGING);
  stopClock();
  signal("SIGINT");
  vi.setSystemTime(Date.now() + 301);
  signal("SIGINT");
  await ended;
});

test("a Ctrl+C that npm repeats counts once, and the application ends gracefully", async () => {
  const { ended, signal, told } = await supervised(`${TELLING}${WAITING}`);
  stopClock();
  signal("SIGINT");
  vi.setSystemTime(Date.now() + 300);
  signal("SIGINT");
  await ended;
  expect(told()).toEqual(["begins", "ends"]);
});

test("changes less than 100 milliseconds apart cause one restart", async () => {
  const { root, printed, ended, signal, told } = await supervised(`${TELLING}${WAITING}`);
  // A watcher that is created later isn't notified earlier, so once this one has seen a change, the supervisor's has
  // too.
  const seen = new Set<string>();
  const watcher = new FolderWatcher(root, (path) => void seen.add(path));
  onTestFinished(() => watcher.close());
  // Not `expect.poll`, which would move the stopped clock.
  let passed = 0;
  const start = Date.now();
  const clock = vi.spyOn(Date, "now").mockImplementation(() => start + passed);
  const sleeping: { readonly ms: number; readonly wake: () => void }[] = [];
  const sleep = vi.spyOn(timers, "setTimeout").mockImplementation((ms = 0) => {
    const { promise, resolve } = Promise.withResolvers<never>();
    sleeping.push({ ms, wake: resolve as () => void });
    return promise;
  });
  syncBuiltinESMExports();
  const restore = (): void => {
    clock.mockRestore();
    sleep.mockRestore();
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  for (const [after, file] of [
    [0, "app.ts"],
    [99, "two.ts"],
    [198, "three.ts"],
  ] as const) {
    passed = after;
    writeFileSync(join(root, file), `${TELLING}${WAITING}`);
    await expect.poll(() => seen.has(file)).toBe(true);
  }
  expect(sleeping.map(({ ms }) => ms)).toEqual([100]);
  sleeping[0]!.wake();
  await expect.poll(() => sleeping.map(({ ms }) => ms)).toEqual([100, 100]);
  passed = 297;
  sleeping[1]!.wake();
  await expect.poll(() => sleeping.map(({ ms }) => ms)).toEqual([100, 100, 1]);
  expect(printed).toEqual([]);
  passed = 298;
  sleeping[2]!.wake();
  await expect.poll(told).toEqual(["begins", "ends", "begins"]);
  expect(printed).toEqual(["Restarting: app.ts and 2 more files changed."]);
  restore();
  signal("SIGTERM");
  await ended;
});

test("the next application starts only after a slow one has ended", async () => {
  // It takes as long to end as to start a few other processes.
  const slow = `
process.prependListener("exit", () => {
  for (let count = 0; count < 4; count++) spawnSync(process.execPath, [process.argv[1], "--version"]);
});
`;
  const { root, ended, signal, told } = await supervised(`${TELLING}${slow}${WAITING}`);
  // On a busy machine that may take more than the five seconds after which it would be killed.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  writeFileSync(join(root, "app.ts"), `${TELLING}${WAITING}`);
  // Without `expect.poll`, which would move the stopped clock.
  while (told().filter((what) => what === "begins").length < 2) await timers.setTimeout(20);
  expect(told()).toEqual(["begins", "ends", "begins"]);
  signal("SIGTERM");
  await ended;
});
