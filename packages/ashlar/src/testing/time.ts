import { AshlarError, now, setClock } from "../support/index.ts";
import "../security/index.ts";

const MINUTE_MS = 60_000;

/** The clock's offset from the system's, or the moment at which it is frozen. */
type Clock = { readonly aheadMs: number } | { readonly frozenAt: number } | null;

let clock: Clock = null;

/**
 * Moves the framework's clock, which determines the age of tokens, sessions, links and limits. The clock keeps running
 * unless it is frozen.
 *
 * ```ts
 * afterEach(travelBack);
 *
 * test("a session ends after two hours without use", async () => {
 *   await client.actingAs(user);
 *   travel(121);
 *   await client.assertGuest();
 * });
 * ```
 *
 * With `using`, the clock returns to its previous time at the end of a block: `using _ = travel(60);`.
 *
 * @param to minutes from now, or negative; or the moment to move to
 * @throws `E_INVALID_VALUE` if it is not a valid time
 */
export function travel(to: number | Date): Disposable {
  const at = to instanceof Date ? to.getTime() : now() + to * MINUTE_MS;
  checkTime(at);
  const isFrozen = clock !== null && "frozenAt" in clock;
  return set(isFrozen ? { frozenAt: at } : { aheadMs: at - Date.now() });
}

/**
 * Freezes the framework's clock, so that times can be compared to the millisecond; {@link travel} still moves it.
 *
 * @param at the moment at which to freeze it; default: now
 * @returns a disposable that restores the previous time, for `using`
 * @throws `E_INVALID_VALUE` if it is not a valid time
 */
export function freeze(at?: Date): Disposable {
  const frozenAt = at?.getTime() ?? now();
  checkTime(frozenAt);
  return set({ frozenAt });
}

/** Restores the system's clock, however often it was moved: `afterEach(travelBack)`. */
export function travelBack(): void {
  use(null);
}

function set(next: Clock): Disposable {
  const before = clock;
  use(next);
  return { [Symbol.dispose]: () => use(before) };
}

function use(next: Clock): void {
  clock = next;
  if (next === null) setClock(null);
  else if ("frozenAt" in next) setClock(() => next.frozenAt);
  else setClock(() => Date.now() + next.aheadMs);
}

function checkTime(at: number): void {
  if (Number.isNaN(new Date(at).getTime())) {
    throw new AshlarError("E_INVALID_VALUE", "The clock cannot be moved there: pass minutes, or a valid Date.");
  }
}
