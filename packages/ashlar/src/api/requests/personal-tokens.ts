import type { Authenticatable, Guard } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { randomToken } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";
import { abilitiesFrom } from "../abilities.ts";
import type { Drivers } from "../drivers/drivers.ts";
import { message } from "../messages.ts";
import type { PersonalStore, PersonalToken } from "../stores/personal-store.ts";
import { ForeignGuard } from "./foreign-guard.ts";
import { JwtGuard } from "./jwt-guard.ts";
import "../../http/index.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The personal tokens of the user who is logged in. */
    readonly personalTokens: PersonalTokens;
  }
}

/** The inputs for a new token from a form or an API client; each may be of any type. */
export interface PersonalTokenInput {
  readonly name: unknown;
  /** A list, or text with spaces between them. */
  readonly abilities: unknown;
  /** A number of days, or that number as text. */
  readonly days: unknown;
  /** The form's identifier, as returned by {@link PersonalTokens.page}. */
  readonly form?: unknown;
}

const FORM_BYTES = 16;
const MAX_FORM_LENGTH = 100;
const LIFETIMES = [7, 30, 90, 365];
const USUAL_LIFETIME = 30;

/**
 * The personal tokens of a request's user. Other users' tokens can't be accessed.
 *
 * A request with a token can't list, create or revoke tokens. Otherwise, anyone with a token could create another one
 * with a longer life.
 */
export class PersonalTokens {
  readonly #context: HttpContext;
  readonly #drivers: Drivers;

  constructor(context: HttpContext, drivers: Drivers) {
    this.#context = context;
    this.#drivers = drivers;
  }

  /**
   * The user's tokens, and the choices that a form for a new one offers.
   *
   * @throws `E_UNAUTHENTICATED` without a user; `E_FORBIDDEN` if a token proves the user; `E_UNKNOWN_SERVICE` if no driver
   * has personal tokens
   */
  async page(): Promise<{
    /** The user's tokens, newest first. */
    readonly tokens: readonly PersonalToken[];
    /** The abilities to choose from; `null` if the application lists none. */
    readonly abilities: readonly string[] | null;
    /** The lifetimes to choose from, in days; the entry `null` means that the token doesn't expire. */
    readonly lifetimes: readonly (number | null)[];
    /** The lifetime to select by default. */
    readonly lifetime: number;
    /** The value of the form's input `form`, so that submitting it twice doesn't create a second token. */
    readonly form: string;
  }> {
    const { user, store } = await this.#own();
    const { maximumDays } = store.options;
    return {
      tokens: await store.list(user),
      abilities: await store.abilitiesOf(user),
      lifetimes: lifetimesUpTo(maximumDays),
      lifetime: Math.min(USUAL_LIFETIME, maximumDays ?? USUAL_LIFETIME),
      form: randomToken(FORM_BYTES),
    };
  }

  /**
   * Creates a token.
   *
   * Security: show it once, in the response to this request. Don't store it anywhere, not even in the session.
   *
   * @param input the inputs of the request
   * @returns `null` if a token has already been created with this form
   * @throws `E_INVALID_INPUT`; `E_STALE_PROOF` if access to the account has just ended; the errors of {@link page}
   */
  async create({ name, abilities, days, form }: PersonalTokenInput): Promise<
    | (Omit<PersonalToken, "lastUsedAt" | "isExpired"> & {
        /** The token itself. It can't be recovered later, because the database only has its digest. */
        readonly token: string;
      })
    | null
  > {
    const { user, store } = await this.#own();
    const chosen = abilitiesFrom(abilities);
    return store.issue(user, {
      name: typeof name === "string" ? name : "",
      // A form with no box checked sends no abilities.
      abilities: chosen?.length === 0 ? null : chosen,
      days: daysFrom(days),
      form: typeof form === "string" && form !== "" ? form.slice(0, MAX_FORM_LENGTH) : null,
      address: this.#context.request.clientAddress,
    });
  }

  /**
   * Revokes a token, which is refused from now on.
   *
   * @param id the token's id, as in {@link page}; it may come from an input, of any type
   * @returns whether the token existed and belonged to the user
   * @throws the same errors as {@link page}
   */
  async revoke(id: unknown): Promise<boolean> {
    const { user, store } = await this.#own();
    const key = typeof id === "number" ? String(id) : id;
    return typeof key === "string" && store.revoke(key, user, this.#context.request.clientAddress);
  }

  async #own(): Promise<{ readonly user: Authenticatable; readonly store: PersonalStore }> {
    const { auth } = this.#context;
    const guard: Guard = auth.guard(auth.guardName);
    const isByToken = guard instanceof JwtGuard || guard instanceof ForeignGuard;
    if (isByToken) throw new AshlarError("E_FORBIDDEN", message("api.personal.byToken"));
    const user = (await guard.user()) as Authenticatable | null;
    if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
    return { user, store: this.#drivers.personalFor(user.constructor) };
  }
}

function lifetimesUpTo(maximum: number | null): readonly (number | null)[] {
  if (maximum === null) return [...LIFETIMES, null];
  const shorter = LIFETIMES.filter((days) => days < maximum);
  return [...shorter, maximum];
}

/**
 * A number of days from an input; `NaN`, which is never allowed, if the input isn't a number; `null` if it is empty.
 */
function daysFrom(days: unknown): number | null {
  if (days === null || days === undefined || days === "") return null;
  if (typeof days === "number") return days;
  return typeof days === "string" && /^\d{1,6}$/.test(days) ? Number(days) : Number.NaN;
}
