import type { HttpContext } from "../../http/index.ts";
import type { Sealer } from "../../security/index.ts";
import { normalized } from "../codes/one-time-codes.ts";

const KEY = "two_factor.unlock";
/** Three codes are shown within 90 seconds. */
const MAX_AGE_SECONDS = 4 * 60;
const CODES = 3;

/**
 * The codes that a visitor has entered after the attempts at an account were used up, by this visitor or by anyone else: three
 * codes of three periods in a row pass the step all the same. They are kept, sealed, in the visitor's session.
 *
 * Security: the response to the first two is the same whether they are right or not. So all three have to be guessed at once: one
 * of 10^18 possibilities, in three periods.
 */
export class Unlocking {
  readonly #context: HttpContext;
  readonly #sealer: Sealer;
  readonly #name: string;

  /**
   * @param owner names the user whose login waits
   */
  constructor(context: HttpContext, sealer: Sealer, owner: string) {
    this.#context = context;
    this.#sealer = sealer;
    this.#name = `unlock ${owner}`;
  }

  /** Whether the visitor has begun. */
  get hasBegun(): boolean {
    return this.#codes.length > 0;
  }

  /**
   * Adds a code.
   *
   * @returns all three codes, once they are complete; or else what to do next
   */
  add(typed: string): readonly string[] | "next" | "last" | "same" {
    const before = this.#codes;
    const code = normalized(typed) ?? typed.slice(0, 10);
    if (before.at(-1) === code) return "same";
    const codes = [...before, code];
    if (codes.length === CODES) {
      this.forget();
      return codes;
    }
    this.#context.session.put(KEY, this.#sealer.seal(this.#name, JSON.stringify(codes)));
    return codes.length === 1 ? "next" : "last";
  }

  forget(): void {
    this.#context.session.forget(KEY);
  }

  get #codes(): readonly string[] {
    const sealed = this.#context.session.get(KEY);
    const opened = typeof sealed === "string" ? this.#sealer.open(this.#name, sealed, MAX_AGE_SECONDS) : null;
    return opened === null ? [] : (JSON.parse(opened) as readonly string[]);
  }
}
