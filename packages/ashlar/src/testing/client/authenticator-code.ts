import { now } from "../../support/index.ts";
import { codeOfTime } from "../../two-factor/index.ts";

/**
 * The code that a user's authenticator app shows, for tests of logins with two-factor authentication:
 *
 * ```ts
 * await client.submit(page, { code: authenticatorCode(secret) });
 * ```
 *
 * Each code works once. For another one, pass the next 30 seconds, whose code is accepted already.
 *
 * @param secret the app's secret in base32, as the page that sets the app up shows it
 * @param inSeconds when the app shows the code, in seconds from now; default: now
 */
export function authenticatorCode(secret: string, inSeconds = 0): string {
  return codeOfTime(secret, now() / 1000 + inSeconds);
}
