import type { Browser } from "playwright-core";
import { describe } from "vitest";
import { findBrowser, startBrowser } from "./browser-process.ts";
import { findFirefox, startFirefox } from "./firefox.ts";

/** The browsers that a machine can have. */
export type RealBrowserName = "Chromium" | "Firefox";

/** Starts a browser that resolves these hosts to this machine, and maps these ports to others. */
export type StartBrowser = (names: readonly string[], ports?: Readonly<Record<number, number>>) => Promise<Browser>;

const REAL_BROWSERS: readonly (readonly [RealBrowserName, () => string | null, StartBrowser])[] = [
  ["Chromium", findBrowser, startBrowser],
  ["Firefox", findFirefox, startFirefox],
];

/**
 * Defines a suite for each browser. If the browser is missing, its suite is listed as skipped; with `CI` set, it fails.
 */
export function inEachBrowser(define: (name: RealBrowserName, start: StartBrowser) => void): void {
  for (const [name, find, start] of REAL_BROWSERS) {
    const isThere = find() !== null;
    describe.skipIf(!isThere && !process.env.CI)(isThere ? name : `${name} (not installed)`, () => define(name, start));
  }
}
