/** One entry of the header: a language range (RFC 4647 §2.1) in lower case, and its weight. */
type WeightedRange = readonly [range: string, weight: number];

/** The number of header entries that are read. Browsers send a handful, but a client can send any number. */
const MAX_RANGES = 32;

/** The longest language tag that an implementation has to accept (RFC 5646 §4.4.1). */
const MAX_RANGE_LENGTH = 35;

const ENTRY = /^\s*(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

/**
 * Chooses the language of a response from the client's preferences (RFC 9110 §12.5.4): the first range in
 * `Accept-Language` that matches an offered language, highest weight first. Ranges match by Lookup (RFC 4647 §3.4), so
 * `de-CH` accepts `de`. A range that is shorter than an offered tag matches too: `de` accepts `de-AT`.
 *
 * @param header `Accept-Language`, or one language tag. Entries that are unreadable or have a range of more than 35
 *   characters are skipped, and those after the 32nd are ignored
 * @param offered the language tags (BCP 47), in order of preference
 * @returns one of `offered`, or `null` if none matches
 */
export function negotiateLanguage(header: string | null, offered: readonly string[]): string | null {
  const ranges = header === null ? [] : header.split(",", MAX_RANGES).flatMap(readEntry);
  const refused = ranges.filter(([, weight]) => weight === 0).map(([range]) => range);
  const left = offered.filter((language) => !refused.some((range) => covers(range, language)));
  const wanted = ranges.filter(([, weight]) => weight > 0).sort(([, a], [, b]) => b - a);
  for (const [range] of wanted) {
    const found = range === "*" ? left[0] : lookup(range, left);
    if (found !== undefined) return found;
  }
  return null;
}

function readEntry(entry: string): WeightedRange[] {
  const [, range, weight = "1"] = ENTRY.exec(entry) ?? [];
  return range === undefined || range.length > MAX_RANGE_LENGTH ? [] : [[range.toLowerCase(), Number(weight)]];
}

function lookup(range: string, offered: readonly string[]): string | undefined {
  for (let tag = range; tag !== ""; tag = shortened(tag)) {
    const found = offered.find((language) => language.toLowerCase() === tag);
    if (found !== undefined) return found;
  }
  return offered.find((language) => covers(range, language));
}

/** Removes the last subtag, along with a single letter before it, which only introduces that subtag. */
function shortened(tag: string): string {
  const end = tag.lastIndexOf("-");
  const isIntroduced = end === 1 || tag[end - 2] === "-";
  return tag.slice(0, Math.max(0, isIntroduced ? end - 2 : end));
}

/** Basic Filtering (RFC 4647 §3.3.1). `*` matches every language that no other range names. Here it excludes none. */
function covers(range: string, language: string): boolean {
  const tag = language.toLowerCase();
  return tag === range || tag.startsWith(`${range}-`);
}

/**
 * The language that a user has chosen, from the property `language`; `null` if the user hasn't chosen one, or if it
 * isn't offered.
 *
 * @param offered the language tags (BCP 47)
 */
export function languageOfUser(user: object | null, offered: readonly string[]): string | null {
  const { language } = (user ?? {}) as { readonly language?: unknown };
  return typeof language === "string" ? negotiateLanguage(language, offered) : null;
}

/**
 * The language for a visitor who isn't a user, or whose own language isn't offered: the best match for
 * `Accept-Language`, or else the default language.
 *
 * @param offered the language tags (BCP 47), with the default one first
 */
export function languageOfClient(acceptLanguage: string | null, offered: readonly string[]): string {
  return negotiateLanguage(acceptLanguage, offered) ?? offered[0]!;
}

/** A language's text direction, as in the HTML attribute `dir`. */
export type TextDirection = "ltr" | "rtl";

/** The platform's data about a locale's text (ECMA-402), which is missing in TypeScript's types. */
interface TextInfoLocale {
  getTextInfo?(): { readonly direction?: string };
}

/**
 * Returns the direction of a language's text: `rtl` for Arabic, Hebrew, Persian and others that the platform knows. It
 * depends on the script in the tag, or else on the language's usual script.
 *
 * @param language a tag (BCP 47), such as `ar-EG`; any other text runs from left to right
 */
export function textDirection(language: string): TextDirection {
  const tag = canonicalLanguage(language);
  const locale = tag === null ? null : (new Intl.Locale(tag) as TextInfoLocale);
  return locale?.getTextInfo?.().direction === "rtl" ? "rtl" : "ltr";
}

/** A language tag in its usual spelling, `de-AT` for `DE-at`; `null` if the text is not a language tag (BCP 47). */
export function canonicalLanguage(tag: unknown): string | null {
  if (typeof tag !== "string") return null;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null;
  }
}
