import { now } from "../../support/index.ts";
import { codeOfTime } from "../../two-factor/index.ts";

/**
 * Returns the code that a user's authenticator app would show, for tests with two-factor authentication:
 *
 * ```ts
 * await client.submit(page, { code: authenticatorCode(secret) });
 * ```
 *
 * Each code works once. To get another one, pass 30 for `inSeconds`, because the next code is already accepted.
 *
 * @param secret the app's secret in base32, as shown on the page for setting up the app
 * @param inSeconds when the app shows the code, in seconds from now; default: 0
 */
export function authenticatorCode(secret: string, inSeconds = 0): string {
  return codeOfTime(secret, now() / 1000 + inSeconds);
}
