import { normalizeEmail, normalizeKnownEmail } from "../../security/index.ts";
import { BATCH, type OtherSpelling, type SpelledUsers, type SpellingReport, type StoredText } from "./spelled-users.ts";

/**
 * Finds users whose stored spelling differs from the normal form that lookups use, and users whose normal forms would
 * collide. Only reads.
 *
 * @param signal stops after the current batch; the results so far are returned
 */
export async function findSpellings(users: SpelledUsers, signal?: AbortSignal): Promise<SpellingReport> {
  const groups = new Map<string, OtherSpelling[]>();
  const refused: StoredText[] = [];
  const look = (texts: readonly StoredText[]): void => {
    for (const text of texts) {
      if (isRefused(text)) refused.push(text);
      const normal = users.columns.get(text.column)!(text.stored);
      if (normal === null || normal === text.stored) continue;
      const key = `${text.column} ${normal}`;
      groups.set(key, [...(groups.get(key) ?? []), { ...text, normal }]);
    }
  };
  await users.visit(look, signal);
  const holders = await holdersOf(
    users,
    [...groups.values()].map(([first]) => first!),
  );
  const others: OtherSpelling[] = [];
  const collisions: (readonly StoredText[])[] = [];
  for (const [key, group] of groups) {
    const all = [...(holders.get(key) ?? []), ...group];
    if (all.length === 1) others.push(...group);
    else collisions.push(all);
  }
  return { others, collisions, refused };
}

function isRefused({ column, stored }: StoredText): boolean {
  return column === "email" && normalizeKnownEmail(stored) !== null && normalizeEmail(stored) === null;
}

/** The users that have one of the normal forms already, by column and form. */
async function holdersOf(users: SpelledUsers, firsts: readonly OtherSpelling[]): Promise<Map<string, StoredText[]>> {
  const found: StoredText[] = [];
  for (const [column, own] of Map.groupBy(firsts, (one) => one.column)) {
    for (let from = 0; from < own.length; from += BATCH) {
      const normals = own.slice(from, from + BATCH).map(({ normal }) => normal);
      found.push(...(await users.holders(column, normals)));
    }
  }
  return Map.groupBy(found, ({ column, stored }) => `${column} ${stored}`);
}
