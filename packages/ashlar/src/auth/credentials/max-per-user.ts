import { integer, type Setting } from "../../support/index.ts";

/** The default of {@link MAX_PER_USER}. */
export const DEFAULT_MAX_PER_USER = 100;

/** How many logins, or tokens of one kind, a user can have at once: `maxPerUser` of a guard, `many()` and `personal()`. */
export const MAX_PER_USER: Setting<number> = integer({ from: 1, to: 10_000 }, DEFAULT_MAX_PER_USER);
