import { afterAll, vi } from "vitest";
import { endApplication, runningApplications } from "../../src/foundation/running-applications.ts";
import { setClock } from "../../src/support/index.ts";

// Loaded with each test file of the projects whose files share their modules: none leaves to the next one a
// clock that was moved, a function that was replaced, or an application that it did not shut down.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  setClock(null);
  for (const application of runningApplications()) endApplication(application);
});
