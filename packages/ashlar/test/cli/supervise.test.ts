import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { supervise } from "../../src/cli/watch/supervise.ts";
import { folderWith } from "../support/temporary-folder.ts";

/** The beginning of each application: it writes to a log when it starts, and when it ends gracefully. */
const TELLING = `
import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
const tell = (what) => appendFileSync(import.meta.dirname + "/told.log", what + " " + process.pid + "\\n");
process.on("exit", () => tell("ends"));
tell("begins");
`;
/** An application that ignores every message. */
const HANGING = `${TELLING}Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
/** The end of an application that runs until it is told to end. */
const WAITING = `setInterval(() => {}, 60_000);\nawait new Promise(() => {});`;

interface Supervised {
  readonly root: string;
  /** Settles when the supervisor has ended. */
  readonly ended: Promise<void>;
  /** Sends the supervisor a signal. */
  signal(name: "SIGINT" | "SIGTERM"): void;
  /** The applications' log so far, without process ids. */
  told(): string[];
}

/** Supervises an application in this process, which is its supervisor until the test has finished. */
async function supervised(program: string): Promise<Supervised> {
  const root = folderWith({ "app.ts": program });
  const others = { SIGINT: process.listeners("SIGINT"), SIGTERM: process.listeners("SIGTERM") };
  const ended = supervise({ root, print: () => {}, printError: () => {} }, []);
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
  return { root, ended, signal, told };
}

/** Stops the clock. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("an application that hangs is killed five seconds after it was told to end", async () => {
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

test("the next application starts only after a slow one has ended", async () => {
  // Ending takes as long as starting a few other processes.
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
  await expect.poll(() => told().filter((what) => what === "begins")).toHaveLength(2);
  expect(told()).toEqual(["begins", "ends", "begins"]);
  signal("SIGTERM");
  await ended;
});
