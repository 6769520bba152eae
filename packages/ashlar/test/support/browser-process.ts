import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type LaunchOptions } from "playwright-core";

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

/** The path of Chromium on this machine, or `null`. */
export function findBrowser(): string | null {
  return pathOf(NAMES);
}

/** The path of the first of these programs that this machine has, or `null`. */
export function pathOf(names: readonly string[]): string | null {
  for (const name of names) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // Then the next one.
    }
  }
  return null;
}

/** How a browser is started that contacts nothing but the pages it is sent to. */
function launchOptions(): LaunchOptions {
  const executablePath = findBrowser();
  if (executablePath === null) throw new Error(`There is no browser on this machine: ${NAMES.join(", ")}.`);
  return {
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
  };
}

/**
 * Starts a browser. Its windows block the cookies of other sites.
 *
 * @param names the hosts that are this machine, besides `localhost`
 * @param ports the ports that are others of this machine: `{ 443: 8443 }`
 */
export function startBrowser(
  names: readonly string[] = [],
  ports: Readonly<Record<number, number>> = {},
): Promise<Browser> {
  const options = launchOptions();
  const rules = names
    .flatMap((name) => [
      ...Object.entries(ports).map(([port, own]) => `MAP ${name}:${port} 127.0.0.1:${own}`),
      `MAP ${name} 127.0.0.1`,
    ])
    .join();
  return chromium.launch({ ...options, args: [...(options.args ?? []), `--host-resolver-rules=${rules}`] });
}

/**
 * Starts a browser whose user allows the cookies of other sites, as one window. Close it when it is done with.
 *
 * @param profile an empty folder
 */
export async function startWindowWithAllCookies(profile: string): Promise<BrowserContext> {
  await mkdir(join(profile, "Default"));
  const preferences = { profile: { block_third_party_cookies: false, cookie_controls_mode: 0 } };
  await writeFile(join(profile, "Default/Preferences"), JSON.stringify(preferences));
  return await chromium.launchPersistentContext(profile, { ...launchOptions(), ignoreHTTPSErrors: true });
}
