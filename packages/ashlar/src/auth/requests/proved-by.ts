import { now } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import { amrOf, type LoginMethod } from "../proofs/login-methods.ts";
import type { ProofRegistry } from "../proofs/proof-registry.ts";
import { WebGuard } from "../web/web-guard.ts";

/** How long a proof counts for `confirmedWith` and `password.confirm`, unless they name another time. */
export const CONFIRMED_MINUTES = 180;

const MS_PER_MINUTE = 60_000;

/** When and how a request's user has proved who they are. */
export interface ProvedBy {
  /** When they last did; with a token, when its login did. `null` if never, or if that isn't known. */
  readonly authenticatedAt: Date | null;
  /** The proofs that they gave in this login, each with its latest time; empty for a user identified by a token. */
  readonly methods: readonly LoginMethod[];
  /** The factors that these proofs satisfied, as values of RFC 8176. */
  readonly amr: readonly string[];
}

/** What is known about a guest. */
export const NOTHING_PROVED: ProvedBy = Object.freeze({ authenticatedAt: null, methods: [], amr: [] });

/** When and how a guard's user has proved who they are: in the login of a cookie, or by the claims of a token. */
export function provedBy(guard: Guard<object>): ProvedBy {
  if (guard.knownUser === null) return NOTHING_PROVED;
  if (guard instanceof WebGuard) {
    const { authenticatedAt = null, methods = [] } = guard.currentLogin ?? {};
    return { authenticatedAt, methods: methods ?? [], amr: amrOf(methods ?? []) };
  }
  const { auth_time: at, amr } = guard.claims ?? {};
  return {
    authenticatedAt: typeof at === "number" ? new Date(at * 1000) : null,
    methods: [],
    amr: Array.isArray(amr) ? amr.filter((one) => typeof one === "string") : [],
  };
}

/**
 * Reports whether a user has proved who they are within a number of minutes.
 *
 * @param wanted by what: the name of a proof or a step, or a factor as a value of RFC 8176; `null`: by anything. A token
 * doesn't name proofs: one counts if the token has all its factors
 */
export function isProvedWithin(
  { authenticatedAt, methods, amr }: ProvedBy,
  proofs: ProofRegistry,
  wanted: string | null,
  minutes: number,
): boolean {
  const isRecent = (at: Date | null): boolean => {
    const age = at === null ? Number.NaN : now() - at.getTime();
    return age < minutes * MS_PER_MINUTE;
  };
  if (wanted === null) return isRecent(authenticatedAt);
  if (methods.length > 0) {
    const recent = methods.filter(({ at }) => isRecent(at));
    return recent.some(({ by }) => by === wanted) || amrOf(recent).includes(wanted);
  }
  const factors = proofs.all.find(({ name }) => name === wanted)?.amr ?? [wanted];
  return isRecent(authenticatedAt) && factors.length > 0 && factors.every((one) => amr.includes(one));
}
