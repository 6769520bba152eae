import { isPlainObject } from "../../support/index.ts";

/** A driver that issues tokens, as far as the configuration shows. */
export interface IssuingDriver {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** Whether its users have several tokens. */
  readonly hasMany: boolean;
  /** Whether its users have personal tokens. */
  readonly hasPersonal: boolean;
  /** The class of its users; `null` if unknown. */
  readonly model: Readonly<Record<string, unknown>> | null;
}

/**
 * The drivers of an application that issue tokens.
 *
 * @param drivers `DRIVERS`, as written in `config/api.ts`
 */
export function issuingDriversIn(drivers: Readonly<Record<string, unknown>>): readonly IssuingDriver[] {
  return Object.entries(drivers).flatMap(([name, entry]): IssuingDriver[] => {
    if (!isPlainObject(entry) || entry.jwks !== undefined) return [];
    const { model, tokens, personal } = entry;
    const isModel = typeof model === "function" || (typeof model === "object" && model !== null);
    return [
      {
        name,
        entry,
        hasMany: isPlainObject(tokens) && tokens.kind === "many",
        hasPersonal: isPlainObject(personal) && personal.kind === "personal",
        model: isModel ? (model as unknown as Readonly<Record<string, unknown>>) : null,
      },
    ];
  });
}
