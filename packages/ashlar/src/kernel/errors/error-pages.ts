import { createHash } from "node:crypto";
import type { PageToReturnTo } from "../../http/index.ts";
import { ENGLISH, inEnglish, textDirection } from "../../messages/index.ts";
import { escapeHtml, type Message } from "../../support/index.ts";
import { BACK, referenceLine } from "./messages.ts";
import { fieldProblems, type Problem } from "./problem.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:#1d2327;--soft:#5b666e;--paper:#fbfaf8;--line:#d9d5cf;--mark:#9a3b1f}
@media (prefers-color-scheme:dark){:root{--ink:#ece9e4;--soft:#a3a9ad;--paper:#16191b;--line:#34393d;--mark:#f0946f}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:2rem;background:var(--paper);color:var(--ink);
font:1.0625rem/1.6 system-ui,sans-serif}
main{max-width:36rem;width:100%}
p.status{margin:0;color:var(--mark);font-weight:600;letter-spacing:.04em}
h1{margin:.25rem 0 1rem;font-size:2rem;line-height:1.2}
ul{padding-left:1.25rem}
p.reference{margin-top:2rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
a{color:inherit}
a.button{display:inline-flex;align-items:center;min-height:2.75rem;margin-top:.5rem;padding:.5rem 1.125rem;border-radius:.5rem;
background:var(--ink);color:var(--paper);font-weight:600;text-decoration:none}
a.button:hover{text-decoration:underline}
a:focus-visible{outline:3px solid var(--mark);outline-offset:2px}
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** The headers that isolate a page from other sites, besides its `Content-Security-Policy`. */
export const ISOLATION_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "cross-origin-opener-policy": "same-origin-allow-popups",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
});

/** The headers of every error page. The digest allows only this style. No scripts are allowed. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  ...ISOLATION_HEADERS,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
});

/**
 * Renders an error page if the application doesn't have its own.
 *
 * @param reference identifies the request in the log; `null` if the visitor can solve the problem without help
 * @param language the page's language
 * @param t translates a sentence into that language
 * @param page the page that the error page links back to
 */
export function errorPage(
  problem: Problem,
  reference: string | null = null,
  language: string = ENGLISH,
  t: (message: Message) => string = inEnglish,
  page: PageToReturnTo | null = null,
): string {
  const text = `<p>${escapeHtml(page?.message ? t(page.message) : problem.detail)}</p>
${fieldList(problem)}${page === null ? "" : linkBack(page, t)}${reference === null ? "" : `<p class="reference">${escapeHtml(t(referenceLine(reference)))}</p>\n`}`;
  return errorDocument(language, problem.status, problem.title, text);
}

/**
 * The document of an error page.
 *
 * @param language the page's language
 * @param html the content under its heading
 */
export function errorDocument(language: string, status: number, heading: string, html: string): string {
  const title = escapeHtml(heading);
  return `<!doctype html>
<html lang="${escapeHtml(language)}" dir="${textDirection(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="status">${status}</p>
<h1>${title}</h1>
${html}</main>
</body>
</html>
`;
}

function linkBack({ url, notes }: PageToReturnTo, t: (message: Message) => string): string {
  const text = notes.length === 0 ? "" : `<p>${escapeHtml(notes.map(t).join(" "))}</p>\n`;
  return `${text}<p><a class="button" href="${escapeHtml(url)}">${escapeHtml(t(BACK))}</a></p>\n`;
}

function fieldList(problem: Problem): string {
  const items = fieldProblems(problem).map(([field, { message }]) => {
    return `<li>${escapeHtml(field === "" ? message : `${field}: ${message}`)}</li>\n`;
  });
  return items.length === 0 ? "" : `<ul>\n${items.join("")}</ul>\n`;
}
