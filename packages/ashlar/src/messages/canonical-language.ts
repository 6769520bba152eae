/** A language's tag as it is usually written, `de-AT` for `DE-at`; `null` for what is not one (BCP 47). */
export function canonicalLanguage(tag: unknown): string | null {
  if (typeof tag !== "string") return null;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null;
  }
}
