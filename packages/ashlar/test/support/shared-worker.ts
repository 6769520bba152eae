import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, vi } from "vitest";
import { Model } from "../../src/database/index.ts";
import { bindDatabase } from "../../src/database/models/model-database.ts";
import { endApplication, runningApplications } from "../../src/kernel/requests/running-code.ts";
import { setClock } from "../../src/support/index.ts";
import "./native-applications.ts";

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = globalThis;
const TIMERS = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };

// Processes that tests start share Node's compile cache of the framework. This one has none: it would keep the modules of each
// application that is generated here, which no other process loads.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");

// Loaded with each test file of the projects whose files share their modules: none may leave behind a clock that was
// moved, a function that was replaced, an application that was not shut down, or a database that all models use.
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  // A spy on a timer that was mocked would take the mock for the original, and restore it.
  Object.assign(globalThis, TIMERS);
  setClock(null);
  bindDatabase(Model, null);
  for (const application of runningApplications()) endApplication(application);
});
