/** A language tag in its usual spelling, `de-AT` for `DE-at`; `null` if it is not one (BCP 47). */
export function canonicalLanguage(tag: unknown): string | null {
  if (typeof tag !== "string") return null;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null;
  }
}
