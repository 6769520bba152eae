import { ConfigurationError, type MaybePromise, suggestion, ValidationError } from "../support/index.ts";
import { message } from "./messages.ts";

/** A name for something that a token may be used for, such as `orders.write`. */
export const ABILITY_PATTERN: RegExp = /^[a-z0-9._:-]{1,64}$/;

/** Describes the form of an ability in messages. */
export const ABILITY_FORM = "1 to 64 lower-case letters, digits and . _ : -";

/** The maximum number of abilities in a token. */
export const MAX_ABILITIES = 100;

/** Joins abilities with spaces for storage in a column, like the claim `scope` (RFC 8693 §4.2, RFC 9068 §2.2.3). */
export function joined(abilities: Iterable<string> | null): string | null {
  return abilities === null ? null : [...abilities].join(" ");
}

/** Splits the text in such a column; `null` for all abilities. */
export function split(text: string | null): readonly string[] | null {
  return text === null ? null : text.split(" ").filter((ability) => ability !== "");
}

/** Reports whether a value has the form of an ability. */
function isAbility(value: unknown): value is string {
  return typeof value === "string" && ABILITY_PATTERN.test(value);
}

/**
 * Abilities from an input: a list, or text with spaces between them.
 *
 * @returns `null` if there is no input
 * @throws `E_INVALID_INPUT` if it is neither
 */
export function abilitiesFrom(given: unknown): readonly string[] | null {
  if (given === null || given === undefined) return null;
  const list: unknown = typeof given === "string" ? split(given) : given;
  if (Array.isArray(list) && list.length <= MAX_ABILITIES && list.every(isAbility)) return list;
  throw new ValidationError({ abilities: [message("api.input.abilities")] });
}

/** Returns the abilities that a user may give to tokens. */
export type AbilitiesOf = (user: never) => MaybePromise<readonly string[]>;

/** Decides which abilities a user's token gets. */
export class GrantedAbilities {
  readonly #listed: readonly string[] | null;
  readonly #abilitiesOf: AbilitiesOf | null;

  /**
   * @param listed the application's abilities; `null` if it doesn't list them
   * @param ofUser returns the abilities that a user may give; `null` for all
   */
  constructor(listed: readonly string[] | null = null, ofUser: AbilitiesOf | null = null) {
    this.#listed = listed;
    this.#abilitiesOf = ofUser;
  }

  /**
   * Requires each entry of a list to be one of the application's abilities.
   *
   * @throws `E_INVALID_CONFIGURATION` if one is not listed, or cannot be an ability
   */
  require(abilities: readonly string[], where: string): void {
    for (const ability of abilities) {
      if (!isAbility(ability)) {
        throw new ConfigurationError(where, `"${ability}" is not an ability.`, `Write ${ABILITY_FORM}.`);
      }
      if (this.#listed === null || this.#listed.includes(ability)) continue;
      const remedy = `${suggestion(ability, this.#listed)} List it in ABILITIES in config/api.ts.`;
      throw new ConfigurationError(where, `no ability is named "${ability}".`, remedy.trim());
    }
  }

  /**
   * The abilities with which a token is issued; `null` for all that its user may give, now or later.
   *
   * @param requested the abilities that the client requests; `null` for all
   * @throws `E_INVALID_INPUT` if the user may not give one of them
   */
  async choose(user: object, requested: readonly string[] | null): Promise<readonly string[] | null> {
    if (requested === null) return null;
    const refusal = await this.refusalOf(user, requested);
    if (refusal === null) return [...new Set(requested)];
    throw new ValidationError({ abilities: [refusal] });
  }

  /** The abilities that a user may give; `null` for all, because the application doesn't list them. */
  async allowed(user: object): Promise<readonly string[] | null> {
    return (await this.#ofUser(user)) ?? this.#listed;
  }

  /**
   * Explains what is wrong with a list of abilities. Names the first one that the user may not give, and all those that
   * they may.
   *
   * @returns `null` if the user may give all of them
   */
  async refusalOf(user: object, abilities: readonly string[]): Promise<ReturnType<typeof message> | null> {
    if (!abilities.every(isAbility)) return message("api.input.abilities");
    const allowed = await this.allowed(user);
    const unknown = abilities.find((ability) => allowed?.includes(ability) === false);
    if (allowed === null || unknown === undefined) return null;
    if (allowed.length === 0) return message("api.input.abilities");
    return message("api.input.unknownAbility", { ability: unknown, known: allowed.join(", ") });
  }

  /** Reduces a token's abilities to those that its user may still give; `null` for all. */
  async limit(user: object, abilities: readonly string[] | null): Promise<readonly string[] | null> {
    const allowed = await this.#ofUser(user);
    if (allowed === null) return abilities;
    return abilities === null ? allowed : abilities.filter((ability) => allowed.includes(ability));
  }

  /**
   * Reduces a presented token's abilities in the same way. Returns a promise only if the application decides for each
   * user.
   */
  limitPresented(user: object, abilities: ReadonlySet<string> | null): MaybePromise<ReadonlySet<string> | null> {
    if (this.#abilitiesOf === null) return abilities;
    return this.limit(user, abilities === null ? null : [...abilities]).then((limited) => limited && new Set(limited));
  }

  async #ofUser(user: object): Promise<readonly string[] | null> {
    if (this.#abilitiesOf === null) return null;
    const abilities = await this.#abilitiesOf(user as never);
    this.require(abilities, "config/api.ts: abilitiesOf");
    return abilities;
  }
}
