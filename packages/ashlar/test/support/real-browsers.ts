import type { Browser } from "playwright-core";
import { describe } from "vitest";
import { findBrowser, startBrowser } from "./browser-process.ts";
import { findFirefox, startFirefox } from "./firefox.ts";

/** The browsers that a machine can have. */
export type RealBrowserName = "Chromium" | "Firefox";

/** Starts a browser that finds these hosts, and instead of these ports others, on this machine. */
export type StartBrowser = (names: readonly string[], ports?: Readonly<Record<number, number>>) => Promise<Browser>;

const REAL_BROWSERS: readonly (readonly [RealBrowserName, () => string | null, StartBrowser])[] = [
  ["Chromium", findBrowser, startBrowser],
  ["Firefox", findFirefox, startFirefox],
];

/** Defines a suite for each browser. Without it, that suite is skipped, by name; with `CI` set, it runs and fails. */
export function inEachBrowser(define: (name: RealBrowserName, start: StartBrowser) => void): void {
  for (const [name, find, start] of REAL_BROWSERS) {
    const isThere = find() !== null;
    describe.skipIf(!isThere && !process.env.CI)(isThere ? name : `${name} (not installed)`, () => define(name, start));
  }
}
