import { afterAll, vi } from "vitest";
import { endApplication, runningApplications } from "../../src/kernel/running-applications.ts";
import { setClock } from "../../src/support/index.ts";

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = globalThis;
const TIMERS = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };

// Loaded with each test file of the projects whose files share their modules: none may leave behind a clock that was
// moved, a function that was replaced, or an application that was not shut down.
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  // A spy on a timer that was mocked would take the mock for the original, and restore it.
  Object.assign(globalThis, TIMERS);
  setClock(null);
  for (const application of runningApplications()) endApplication(application);
});
