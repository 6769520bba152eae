import { describe } from "vitest";
import { findBrowser } from "./browser-process.ts";

export { startBrowser, startWindowWithAllCookies } from "./browser-process.ts";

/** Defines a suite that needs a browser. Without one it is skipped, by name; with `CI` set it runs and fails. */
export function inBrowser(title: string, define: () => void): void {
  const isThere = findBrowser() !== null;
  describe.skipIf(!isThere && !process.env.CI)(isThere ? title : `${title} (skipped: no Chromium here)`, define);
}
