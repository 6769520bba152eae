import type { HttpContext } from "../http/index.ts";
import { PASSWORD_LIMIT } from "./limits.ts";

/**
 * Waits for the check of a password. If the check itself fails, for example on a machine that is too busy to hash, no
 * password was tried: the account gets the attempt back, so that its owner is not locked out. Limits by address still
 * count the request.
 *
 * @throws what the check throws
 */
export async function unlessUntried<T>(context: HttpContext, checking: Promise<T>): Promise<T> {
  try {
    return await checking;
  } catch (error) {
    await context.auth.throttle?.giveBack(context, PASSWORD_LIMIT, { only: "account" });
    throw error;
  }
}
