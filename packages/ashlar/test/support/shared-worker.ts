import { afterAll, vi } from "vitest";
import { endApplication, runningApplications } from "../../src/kernel/running-applications.ts";
import { setClock } from "../../src/support/index.ts";

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = globalThis;
const TIMERS = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };

// Loaded with each test file of the projects whose files share their modules: none leaves to the next one a
// clock that was moved, a function that was replaced, or an application that it did not shut down.
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  // A spy on a timer that was held takes the held one for the original, and would bring it back.
  Object.assign(globalThis, TIMERS);
  setClock(null);
  for (const application of runningApplications()) endApplication(application);
});
