import { afterAll, vi } from "vitest";
import { setClock } from "../../src/support/index.ts";

// Loaded with each test file of the projects whose files share their modules: none leaves to the next one a
// clock that was moved, or a function that was replaced.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  setClock(null);
});
