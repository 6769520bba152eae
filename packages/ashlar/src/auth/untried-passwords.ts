import type { HttpContext } from "../http/index.ts";
import { PASSWORD_LIMIT } from "./limits.ts";

/**
 * Waits for the check of a password. If that fails, no password was tried, as on a machine that is too busy to hash: the
 * attempt at the account is given back, so that its owner is not locked out. What counts by address alone still counts the
 * request.
 *
 * @throws what the check throws
 */
export async function unlessUntried<T>(context: HttpContext, checking: Promise<T>): Promise<T> {
  try {
    return await checking;
  } catch (error) {
    await context.auth.throttle?.giveBack(context, PASSWORD_LIMIT, { ofAccount: true });
    throw error;
  }
}
