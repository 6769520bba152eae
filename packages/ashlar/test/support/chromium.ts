import { describe } from "vitest";
import { findBrowser } from "./browser-process.ts";

export { startBrowser, startWindowWithAllCookies } from "./browser-process.ts";

/**
 * Defines a suite that needs a browser. If there isn't one, the suite is listed as skipped; with `CI` set, it fails.
 */
export function inBrowser(title: string, define: () => void): void {
  const isThere = findBrowser() !== null;
  describe.skipIf(!isThere && !process.env.CI)(isThere ? title : `${title} (skipped: no Chromium here)`, define);
}
