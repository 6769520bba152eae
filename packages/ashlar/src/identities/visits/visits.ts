import type { HttpContext } from "../../http/index.ts";
import { declareKeyPurpose, digest, type KeyPurpose, randomToken, type Signer } from "../../security/index.ts";
import type {} from "../../session/index.ts";
import { now } from "../../support/index.ts";
import type { Throttle } from "../../throttle/index.ts";
import { ONCE_LIMIT } from "../limits.ts";

/** The purpose that states are signed for. */
export const STATE_KEY: KeyPurpose = declareKeyPurpose("identity-state");

/** How long a visit to a provider may take. */
export const VISIT_SECONDS = 600;

const KEY = "identities.visits";
/** How many visits of one visitor can be under way, such as in several tabs. */
const MAX_VISITS = 5;

/** Why a visitor goes to a provider: to log in, to confirm who they are, or to connect their account there. */
export type VisitPurpose = "login" | "confirm" | "connect";

/** A visit to a provider, as its visitor's session has it. */
export interface Visit {
  readonly provider: string;
  readonly purpose: VisitPurpose;
  readonly state: string;
  readonly nonce: string;
  /** The verifier of PKCE (RFC 7636). */
  readonly verifier: string;
  /** Whose visit it is, as `auth.nameOfOwner` has it; `null` for a login. */
  readonly owner: string | null;
  readonly remember: boolean;
}

/** A visit of an app, which keeps its own verifier. The app sends the state back. */
export interface AppVisit {
  readonly state: string;
  readonly nonce: string;
}

/**
 * Why a visitor can't come back with a state: `state`, it was not made here; `expired`; `provider`, it is of a visit to another one;
 * `used`, its visit is over; `browser`, its visit began in another browser, or its cookies are gone.
 */
export type Mismatch = "state" | "expired" | "provider" | "used" | "browser";

/** The session's data. */
interface Kept {
  readonly visits: readonly Visit[];
  /** Digests of the states of visits that are over. */
  readonly over: readonly string[];
}

/** The parts of a state. `kind` is of a browser or an app. */
type Signed = readonly [kind: "browser" | "app", provider: string, time: number, random: string];

/**
 * Visits to providers. A visitor goes there with a state, and comes back with it: in the same browser, within ten minutes, once.
 *
 * The state is signed and says when and for which provider it was made, so that a mismatch has a cause. The rest is in the session.
 */
export class Visits {
  readonly #signer: Signer;
  readonly #throttle: () => Throttle;

  constructor(signer: Signer, throttle: () => Throttle) {
    this.#signer = signer;
    this.#throttle = throttle;
  }

  /** Begins a visit that only this visitor can come back from. */
  begin(
    { session }: HttpContext,
    { provider, purpose, owner, remember }: Pick<Visit, "provider" | "purpose" | "owner" | "remember">,
  ): Visit {
    const visit: Visit = {
      ...{ provider, purpose, owner, remember },
      state: this.#state("browser", provider),
      nonce: randomToken(),
      verifier: randomToken(),
    };
    const { visits, over } = keptIn(session.get(KEY));
    session.put(KEY, { visits: [...visits, visit].slice(-MAX_VISITS), over });
    return visit;
  }

  /** Begins a visit of an app. */
  beginForApp(provider: string): AppVisit {
    const state = this.#state("app", provider);
    return { state, nonce: nonceOf(state) };
  }

  /**
   * Ends the visit that a visitor comes back from: of any number of requests, in all processes, one gets it.
   *
   * @param state as the visitor brought it
   */
  async end({ session }: HttpContext, provider: string, state: string): Promise<Visit | Mismatch> {
    const mismatch = this.#mismatch("browser", provider, state);
    const { visits, over } = keptIn(session.get(KEY));
    const visit = visits.find((one) => one.state === state);
    const left = visits.filter((one) => one !== visit);
    if (visit !== undefined) session.put(KEY, { visits: left, over: [...over, digest(state)].slice(-MAX_VISITS) });
    if (mismatch !== null) return mismatch;
    if (visit === undefined) return over.includes(digest(state)) ? "used" : "browser";
    return (await this.#isFirst(state)) ? visit : "used";
  }

  /** The same for an app. */
  async endForApp(provider: string, state: string): Promise<AppVisit | Mismatch> {
    const mismatch = this.#mismatch("app", provider, state);
    if (mismatch !== null) return mismatch;
    return (await this.#isFirst(state)) ? { state, nonce: nonceOf(state) } : "used";
  }

  #state(kind: Signed[0], provider: string): string {
    const facts: Signed = [kind, provider, now(), randomToken(16)];
    return this.#signer.sign(JSON.stringify(facts));
  }

  #mismatch(kind: Signed[0], provider: string, state: string): Mismatch | null {
    const text = this.#signer.verify(state);
    const facts = text === null ? null : (JSON.parse(text) as Signed);
    if (facts === null || facts[0] !== kind) return "state";
    if (facts[1] !== provider) return "provider";
    const age = now() - facts[2];
    return age >= 0 && age < VISIT_SECONDS * 1000 ? null : "expired";
  }

  // Security: a session that two requests have read has the visit in both. The count is atomic in all stores.
  async #isFirst(state: string): Promise<boolean> {
    return (await this.#throttle().consume(ONCE_LIMIT, { account: digest(state) })).allowed;
  }
}

/** An app keeps no nonce, and can't choose one: it is the state's. */
function nonceOf(state: string): string {
  return digest(`nonce ${state}`);
}

function keptIn(value: unknown): Kept {
  return (value as Kept | null) ?? { visits: [], over: [] };
}
