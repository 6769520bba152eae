import { canonicalLanguage } from "./canonical-language.ts";

/** The direction that text of a language runs in, as the attribute `dir` of HTML has it. */
export type TextDirection = "ltr" | "rtl";

/** What the platform knows of a locale's text (ECMA-402); the types lack it. */
interface TextInfoLocale {
  getTextInfo?(): { readonly direction?: string };
}

const known = new Map<string, TextDirection>();

/**
 * Returns the direction that text of a language runs in: `rtl` for Arabic, Hebrew, Persian and the others that the platform
 * knows as such, by their usual script or the one that the tag names.
 *
 * @param language a tag (BCP 47), such as `ar-EG`; any other text runs from left to right
 */
export function textDirection(language: string): TextDirection {
  let direction = known.get(language);
  if (direction === undefined) {
    const tag = canonicalLanguage(language);
    const locale = tag === null ? null : (new Intl.Locale(tag) as TextInfoLocale);
    direction = locale?.getTextInfo?.().direction === "rtl" ? "rtl" : "ltr";
    // Languages are those that the application offers: as many as it has files.
    known.set(language, direction);
  }
  return direction;
}
