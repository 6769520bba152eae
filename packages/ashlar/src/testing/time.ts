import { AshlarError, now, setClock } from "../support/index.ts";

const MINUTE_MS = 60_000;

/** How far the clock is from the system's, or where it stands still. */
type Clock = { readonly aheadMs: number } | { readonly frozenAt: number } | null;

let clock: Clock = null;

/**
 * Moves the framework's clock: tokens, sessions, links and limits age by it. It runs on from there, unless it was frozen.
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
 * What is returned puts the clock back to where it was at the end of a block: `using _ = travel(60);`.
 *
 * @param to minutes from now, also backwards; or the moment to be at
 * @throws `E_INVALID_VALUE` where it is no time
 */
export function travel(to: number | Date): Disposable {
  const at = to instanceof Date ? to.getTime() : now() + to * MINUTE_MS;
  checkTime(at);
  const isFrozen = clock !== null && "frozenAt" in clock;
  return set(isFrozen ? { frozenAt: at } : { aheadMs: at - Date.now() });
}

/**
 * Stops the framework's clock, so that times can be compared to the millisecond; {@link travel} still moves it.
 *
 * @param at the moment to stop it at; the current one where left out
 * @returns what puts the clock back to where it was, for `using`
 * @throws `E_INVALID_VALUE` where it is no time
 */
export function freeze(at?: Date): Disposable {
  const frozenAt = at?.getTime() ?? now();
  checkTime(frozenAt);
  return set({ frozenAt });
}

/** Puts the system's clock back, however often it was moved: `afterEach(travelBack)`. */
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
    throw new AshlarError("E_INVALID_VALUE", "The clock cannot be moved there: give minutes, or a valid Date.");
  }
}
