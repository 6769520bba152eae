import { type Catalogue, languageOfClient } from "../../messages/index.ts";
import { escapeHtml } from "../../support/index.ts";
import { errorDocument, PAGE_HEADERS } from "./error-pages.ts";
import { BUSY, NOT_SENT, pageTitle, TRY_AGAIN } from "./messages.ts";

/** What visitors see of a server that is too busy: made before it is, and data, so that another process can send it. */
export interface BusyPages {
  /** The languages that there are pages in, the preferred one first. */
  readonly languages: readonly string[];
  /** By language. */
  readonly pages: Readonly<Record<string, BusyPage>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page in one language. */
interface BusyPage {
  /** For those who opened a page, which they can do again. */
  readonly opened: string;
  /** For those who sent something, which has changed nothing. */
  readonly sent: string;
}

/** Makes the pages in all languages that an application offers. */
export function busyPages(messages: Catalogue): BusyPages {
  const pages = messages.languages.map((language) => {
    const t = messages.translator(language);
    const page = (text: string): string => errorDocument(language, 503, t(pageTitle(503)), text);
    const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>\n`;
    // An empty address is that of the page itself.
    const again = `<p><a class="button" href="">${escapeHtml(t(TRY_AGAIN))}</a></p>\n`;
    return [language, { opened: page(paragraph(t(BUSY)) + again), sent: page(paragraph(t(NOT_SENT))) }] as const;
  });
  return { languages: messages.languages, pages: Object.fromEntries(pages), headers: PAGE_HEADERS };
}

/** The page for a visitor, by `Accept-Language`. */
export function busyPageFor({ languages, pages }: BusyPages, acceptLanguage: string | undefined): BusyPage {
  return pages[languageOfClient(acceptLanguage ?? null, languages)]!;
}
