import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";

/**
 * Features that are turned off. The first of these each start a process for every window: parts of its address bar, and
 * one in reserve. The others are those that Playwright turns off; of two such lists, the last one counts.
 */
const WITHOUT = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "PreloadTopChromeWebUI",
  "SpareRendererForSitePerProcess",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** The path of a browser on this machine, or `null`. */
export function findBrowser(): string | null {
  for (const name of NAMES) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // Then the next one.
    }
  }
  return null;
}

/** Starts a browser that contacts nothing but the pages it is sent to. */
export function startBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === null) throw new Error(`There is no browser on this machine: ${NAMES.join(", ")}.`);
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      `--disable-features=${WITHOUT.join()}`,
    ],
  });
}
