import { textDirection } from "../../messages/index.ts";
import { escapeHtml } from "../../support/index.ts";

/** A proxy's message to a visitor, in the application's default language. */
export interface ProxyPage {
  /** The language's tag. */
  readonly language: string;
  readonly heading: string;
  readonly text: string;
  /** The text of a link to the requested page; `null` if retrying wouldn't help. */
  readonly again: string | null;
}

const STYLE = "max-width:36rem;margin:20vh auto;padding:0 2rem;font:1.0625rem/1.6 system-ui,sans-serif";
/** Characters with a special meaning in some proxy's strings: the end, a variable, a placeholder, an escape. */
const SPECIAL = /["\\$`{}%]|[\r\n]+/g;

/**
 * Returns a page as a single line, which can be put in double quotes in a proxy's configuration, and in backticks in
 * Caddy's.
 */
export function proxyPage({ language, heading, text, again }: ProxyPage): string {
  const title = inString(heading);
  const link = again === null ? "" : `<p><a href=''>${inString(again)}</a></p>`;
  return (
    `<!doctype html><html lang='${inString(language)}' dir='${textDirection(language)}'><meta charset='utf-8'>` +
    "<meta name='viewport' content='width=device-width, initial-scale=1'><meta name='color-scheme' content='light dark'>" +
    `<title>${title}</title><body style='${STYLE}'><h1 style='line-height:1.2'>${title}</h1><p>${inString(text)}</p>${link}`
  );
}

function inString(text: string): string {
  return escapeHtml(text).replaceAll(SPECIAL, (found) => (found.trim() === "" ? " " : `&#${found.charCodeAt(0)};`));
}
