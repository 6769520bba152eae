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

// Processes that tests start share Node's compile cache for the framework. This process doesn't use it, because it
// would store the modules of each application that is generated here, which no other process loads.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");

// Loaded with each test file of the projects whose files share their modules. None may leave behind a moved clock, a
// replaced function, a running application, or a database that all models use.
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  // A spy on a mocked timer would take the mock for the original and restore it.
  Object.assign(globalThis, TIMERS);
  setClock(null);
  bindDatabase(Model, null);
  for (const application of runningApplications()) endApplication(application);
});
