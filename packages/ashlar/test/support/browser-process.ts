import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type LaunchOptions } from "playwright-core";

/**
 * Features to turn off. Each of the first ones starts a process for every window. Playwright turns off the others,
 * which have to be repeated here, because only the last such list counts.
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
      // Try the next one.
    }
  }
  return null;
}

/** Options for a browser that only contacts the pages that a test opens. */
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
 * Starts a browser. Its windows block third-party cookies.
 *
 * @param names the hosts that resolve to this machine, besides `localhost` @param ports the ports that are others of
 *   this machine: `{ 443: 8443 }`
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
 * Starts a browser with one window, whose user allows third-party cookies. The caller closes it.
 *
 * @param profile an empty folder
 */
export async function startWindowWithAllCookies(profile: string): Promise<BrowserContext> {
  await mkdir(join(profile, "Default"));
  const preferences = { profile: { block_third_party_cookies: false, cookie_controls_mode: 0 } };
  await writeFile(join(profile, "Default/Preferences"), JSON.stringify(preferences));
  return await chromium.launchPersistentContext(profile, { ...launchOptions(), ignoreHTTPSErrors: true });
}
