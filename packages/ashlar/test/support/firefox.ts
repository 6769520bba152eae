import { type Browser, firefox } from "playwright-core";
import { pathOf } from "./browser-process.ts";

/** The path of Firefox on this machine, or `null`. */
export function findFirefox(): string | null {
  return pathOf(["firefox-esr", "firefox"]);
}

/**
 * Starts an unmodified Firefox through WebDriver BiDi. It doesn't wait for `page.goBack()` and `page.goForward()`, so
 * call `history.back()` in the page.
 *
 * @param names the hosts that are this machine, besides `localhost`
 * @param ports the ports that are others of this machine: `{ 443: 8443 }`
 */
export async function startFirefox(
  names: readonly string[] = [],
  ports: Readonly<Record<number, number>> = {},
): Promise<Browser> {
  const executablePath = findFirefox();
  if (executablePath === null) throw new Error("There is no Firefox on this machine: firefox-esr.");
  const browser = await firefox.launch({
    channel: "moz-firefox",
    executablePath,
    firefoxUserPrefs: {
      "network.dns.localDomains": names.join(),
      "network.socket.forcePort": Object.entries(ports)
        .map((pair) => pair.join("="))
        .join(";"),
    },
  });
  skipUnknownCommand(browser);
  return browser;
}

/** A browser's internals in playwright-core, which is pinned to one version. */
interface BrowserInside {
  readonly _connection: { toImpl(browser: unknown): { readonly _browserSession: Session } };
}

interface Session {
  send(method: string, parameters: object): Promise<unknown>;
}

/** playwright-core is newer than Firefox ESR, and would fail because that can't emulate media features. */
function skipUnknownCommand(browser: Browser): void {
  const session = (browser as unknown as BrowserInside)._connection.toImpl(browser)._browserSession;
  const send = session.send.bind(session);
  session.send = async (method, parameters) =>
    method === "emulation.setMediaFeaturesOverride" ? {} : await send(method, parameters);
}
