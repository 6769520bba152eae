import type { HttpRequest } from "../../http/index.ts";
import { inEnglish } from "../../messages/index.ts";
import type { Message } from "../../support/index.ts";
import { message } from "../messages.ts";
import type { LoginUse } from "./login-store.ts";

/** The first match counts: most browsers also claim to be those they descend from. */
const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgi?A?(?:OS)?\//, "Edge"],
  [/\bOPR\/|\bOPT\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\bChrome\/|\bCriOS\/|\bChromium\//, "Chrome"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bWindows\b/, "Windows"],
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMacintosh\b|\bMac OS X\b/, "macOS"],
  [/\bLinux\b|\bX11\b/, "Linux"],
];

/**
 * A name for the device that a user agent runs on, for people to recognize: `Firefox on Windows`.
 *
 * It is the client's own claim, and only good for display.
 *
 * @param userAgent the header `User-Agent`, or `null`
 * @param t translates it
 */
export function deviceName(userAgent: string | null, t: (message: Message) => string = inEnglish): string {
  const text = userAgent ?? "";
  const browser = BROWSERS.find(([pattern]) => pattern.test(text))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(text))?.[1];
  if (browser !== undefined && system !== undefined) return t(message("auth.device.named", { browser, system }));
  return browser ?? system ?? t(message("auth.device.unknown"));
}

/** The maximum length of a user agent that is stored, in UTF-16 units. */
const MAX_USER_AGENT_LENGTH = 255;

/** The stored data about a request's device. */
export function deviceOf(request: HttpRequest): Pick<LoginUse, "ip" | "userAgent"> {
  return {
    ip: request.clientAddress,
    userAgent: request.userAgent()?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
  };
}
