import { type AuthenticatableClass, userClassOf } from "../../auth/index.ts";
import type { CompiledRoute } from "../../routing/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { DRIVERS_PLACE } from "../settings.ts";
import { remedyFor, type TokenDrivers } from "../token-drivers.ts";

const GUARD = "guard:";

/** What is asked about the guards of an application. */
interface Guards {
  readonly defaultName: string;
  modelOf(name: string): AuthenticatableClass | null;
}

/** The classes that `Api.personalTokens` was given: its routes are told by them, whatever their paths and names. */
const controllers = new WeakSet<object>();

/** Remembers that a class has the page of personal tokens. */
export function markPersonalTokens(controller: object): void {
  controllers.add(controller);
}

/**
 * Makes sure that the users of each route of `Api.personalTokens` can have personal tokens.
 *
 * @throws `E_INVALID_CONFIGURATION` if no driver with these users has the setting `personal`
 */
export function requirePersonalTokens(routes: readonly CompiledRoute[], guards: Guards, drivers: TokenDrivers): void {
  for (const { handler, location, middleware } of routes) {
    if (!Array.isArray(handler) || !controllers.has(handler[0])) continue;
    // The innermost one is active.
    const guard = middleware.findLast((text) => text.startsWith(GUARD))?.slice(GUARD.length) ?? guards.defaultName;
    const model = guards.modelOf(guard);
    if (model === null) continue;
    const users = userClassOf(model);
    if (drivers.findPersonal(users) !== null) continue;
    const problem = `no entry has personal tokens for users of the guard "${guard}", which Api.personalTokens() in ${location} needs.`;
    throw new ConfigurationError(DRIVERS_PLACE, problem, remedyFor((users as { readonly name: string }).name));
  }
}
