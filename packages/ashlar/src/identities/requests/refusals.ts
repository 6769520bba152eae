import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type Message } from "../../support/index.ts";
import type { NamedProvider } from "../settings.ts";
import type { Mismatch } from "../visits/visits.ts";
import "../errors.ts";

/**
 * Why a visit to a provider has no effect. Of a mismatch between visitor and visit: see {@link Mismatch}. `canceled`: the visitor did
 * not let the provider tell who they are; `failed`: the provider does not confirm it; `down`: it can't be reached; `unwanted`: the
 * settings don't let this account in.
 *
 * Of an account that isn't connected: `no_address`, the provider tells no address; `unverified`, it doesn't say that the address is
 * the visitor's; `taken`, an account here has the address, which isn't proved enough to connect the two; `closed`, it registers
 * no one; `domain`, the address is at another domain.
 *
 * Of someone who is logged in: `elsewhere`, the account is another user's; `not_yours`, it isn't connected to the user; `visitor`,
 * someone else is logged in by now.
 */
export type IdentityRefusal =
  | Mismatch
  | ("canceled" | "failed" | "down" | "unwanted")
  | ("no_address" | "unverified" | "taken" | "closed" | "domain")
  | ("elsewhere" | "not_yours" | "visitor");

/** A visit that had no effect, for the page that says so. */
export interface RefusedVisit {
  readonly status: "refused";
  /** Why, in one word. */
  readonly reason: IdentityRefusal;
  /** The error, for an API client. Its sentence says what happened, and what to do. */
  readonly error: AshlarError;
  /** The same sentence for the page. */
  readonly message: Message;
  /** The provider's name in `config/identities.ts`, and for people. */
  readonly provider: string;
  readonly label: string;
}

/** Makes the refusal of a visit. */
export function refusedVisit({ t }: HttpContext, provider: NamedProvider, reason: IdentityRefusal): RefusedVisit {
  const { name, label } = provider;
  const message = t.message(`identities.refused.${reason}`, { provider: label });
  const code = reason === "down" ? "E_IDENTITY_PROVIDER_DOWN" : "E_IDENTITY_REFUSED";
  const error = new AshlarError(code, message, { extensions: { reason, provider: name } });
  return { status: "refused", reason, error, message, provider: name, label };
}
