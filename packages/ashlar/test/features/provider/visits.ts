import type { HttpContext } from "ashlar";
import { randomToken, type Signer } from "ashlar/security";

const KEY = "example_site.state";
const SECONDS = 600;

/** Why a visitor goes to the other site. `token` is for an API client. */
export type VisitPurpose = "login" | "confirm" | "connect" | "token";

/** A visit to the other site, as its `state` says. */
export interface Visit {
  readonly purpose: VisitPurpose;
  readonly nonce: string;
}

/** Visits to the other site, from which visitors come back with a code. */
export class Visits {
  readonly #signer: Signer;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  /** Begins a visit that only an API client can come back from. */
  beginForClient(): { readonly state: string; readonly nonce: string } {
    return this.#begin("token");
  }

  /** Begins a visit that only this visitor can come back from, once. */
  begin({ session }: HttpContext, purpose: VisitPurpose): { readonly state: string; readonly nonce: string } {
    const visit = this.#begin(purpose);
    session.put(KEY, visit.state);
    return visit;
  }

  /** The visit that a visitor comes back from; `null` if it isn't theirs. */
  end({ session }: HttpContext, state: string): Visit | null {
    const visit = session.pull(KEY) === state ? this.#read(state) : null;
    return visit?.purpose === "token" ? null : visit;
  }

  /** The visit that an API client comes back from; the other site accepts its code once. */
  endForClient(state: string): Visit | null {
    const visit = this.#read(state);
    return visit?.purpose === "token" ? visit : null;
  }

  #begin(purpose: VisitPurpose): { readonly state: string; readonly nonce: string } {
    const nonce = randomToken();
    return { nonce, state: this.#signer.sign(`${purpose} ${nonce}`, { expiresInSeconds: SECONDS }) };
  }

  #read(state: string): Visit | null {
    const [purpose, nonce] = this.#signer.verify(state)?.split(" ") ?? [];
    return purpose === undefined || nonce === undefined ? null : { purpose: purpose as VisitPurpose, nonce };
  }
}
