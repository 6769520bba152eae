import { negotiateLanguage } from "./languages.ts";

/**
 * The language that a user has chosen, in the property `language`; `null` if there isn't one, or if it is not offered.
 *
 * @param offered language tags (BCP 47)
 */
export function languageOfUser(user: object | null, offered: readonly string[]): string | null {
  const { language } = (user ?? {}) as { readonly language?: unknown };
  return typeof language === "string" ? negotiateLanguage(language, offered) : null;
}

/**
 * The language for a visitor who isn't a user, or whose own language isn't offered: the best of those offered by
 * `Accept-Language`, or the default one.
 *
 * @param offered language tags (BCP 47), the default one first
 */
export function languageOfClient(acceptLanguage: string | null, offered: readonly string[]): string {
  return negotiateLanguage(acceptLanguage, offered) ?? offered[0]!;
}
