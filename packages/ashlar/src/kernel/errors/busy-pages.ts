import { type Catalogue, languageOfClient } from "../../messages/index.ts";
import { escapeHtml } from "../../support/index.ts";
import { errorDocument, PAGE_HEADERS } from "./error-pages.ts";
import { BUSY, NOT_SENT, pageTitle, TRY_AGAIN } from "./messages.ts";

/**
 * The pages that visitors see while the server is too busy. They are rendered in advance, as plain data that another
 * process can send.
 */
export interface BusyPages {
  /** The pages' languages, with the preferred one first. */
  readonly languages: readonly string[];
  /** The pages, by language. */
  readonly pages: Readonly<Record<string, BusyPage>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page in one language. */
interface BusyPage {
  /** For visitors who requested a page, and can request it again. */
  readonly opened: string;
  /** For visitors whose form was refused, without any changes. */
  readonly sent: string;
}

/** Renders the pages in all of an application's languages. */
export function busyPages(messages: Catalogue): BusyPages {
  const pages = messages.languages.map((language) => {
    const t = messages.translator(language);
    const page = (text: string): string => errorDocument(language, 503, t(pageTitle(503)), text);
    const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>\n`;
    // An empty address links to the page itself.
    const again = `<p><a class="button" href="">${escapeHtml(t(TRY_AGAIN))}</a></p>\n`;
    return [language, { opened: page(paragraph(t(BUSY)) + again), sent: page(paragraph(t(NOT_SENT))) }] as const;
  });
  return { languages: messages.languages, pages: Object.fromEntries(pages), headers: PAGE_HEADERS };
}

/** The page for a visitor, by `Accept-Language`. */
export function busyPageFor({ languages, pages }: BusyPages, acceptLanguage: string | undefined): BusyPage {
  return pages[languageOfClient(acceptLanguage ?? null, languages)]!;
}
