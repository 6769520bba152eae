import { canonicalLanguage } from "./canonical-language.ts";

/** The direction of a language's text, as in HTML's attribute `dir`. */
export type TextDirection = "ltr" | "rtl";

/** The platform's data about a locale's text (ECMA-402), which the types lack. */
interface TextInfoLocale {
  getTextInfo?(): { readonly direction?: string };
}

const known = new Map<string, TextDirection>();

/**
 * Returns the direction of a language's text: `rtl` for Arabic, Hebrew, Persian and others that the platform knows, by
 * the tag's script or else the language's usual one.
 *
 * @param language a tag (BCP 47), such as `ar-EG`; any other text runs from left to right
 */
export function textDirection(language: string): TextDirection {
  let direction = known.get(language);
  if (direction === undefined) {
    const tag = canonicalLanguage(language);
    const locale = tag === null ? null : (new Intl.Locale(tag) as TextInfoLocale);
    direction = locale?.getTextInfo?.().direction === "rtl" ? "rtl" : "ltr";
    // Bounded: the application offers as many languages as it has files.
    known.set(language, direction);
  }
  return direction;
}
