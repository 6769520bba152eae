import { createHash, randomBytes } from "node:crypto";
import type * as Youch from "youch";
import type { HttpContext } from "../../http/index.ts";
import { withoutTokens } from "../log/loggable-path.ts";
import { redact } from "../log/redaction.ts";
import { errorPage, ISOLATION_HEADERS, PAGE_HEADERS } from "./error-pages.ts";

/** A page, and the headers that it needs. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Renders the page that shows a developer what went wrong: the error, its causes, and the source around each line of
 * the stack.
 *
 * Security: it shows source code; use it in development only.
 *
 * @param path the path of the request, without secrets
 * @param load imports the package that renders the page; without the package, a plain page is returned
 */
export async function developmentPage(
  error: unknown,
  context: HttpContext,
  title: string,
  path: string,
  load: () => Promise<typeof Youch> = () => import("youch"),
): Promise<Page> {
  // Loaded on the first error, and never in production, where it doesn't have to be installed.
  const youch = await load().catch(() => null);
  if (youch === null) return plainPage(error, title);
  const { Youch } = youch;
  const nonce = randomBytes(16).toString("base64");
  const { request } = context;
  const html = await new Youch().toHTML(error, {
    title,
    cspNonce: nonce,
    request: {
      url: path,
      method: request.getRequestMethod(),
      headers: headersOf(request.raw),
    },
  });
  return {
    html,
    headers: {
      ...ISOLATION_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy(nonce),
    },
  };
}

function plainPage(error: unknown, title: string): Page {
  const detail = "To see the source around each line, run: npm install --save-dev youch";
  const problem = { type: "about:blank", title, status: 500, detail, code: "E_INTERNAL" } as const;
  return { html: errorPage({ ...problem, errors: { "": stackLines(error) } }), headers: PAGE_HEADERS };
}

function headersOf({ headers }: Request): Record<string, string> {
  const shown = redact(Object.fromEntries(headers)) as Record<string, string>;
  // The previous page's address may be a mailed link with a token.
  if (shown.referer !== undefined) shown.referer = withoutTokens(shown.referer);
  return shown;
}

/** The digest of the code behind the page's only button, which allows it to run. */
const COPY_BUTTON = createHash("sha256").update("copyErrorMessage(this)").digest("base64");

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `script-src-attr 'unsafe-hashes' 'sha256-${COPY_BUTTON}'`,
    `style-src 'nonce-${nonce}'`,
    // The page puts the line numbers of source code in style attributes.
    "style-src-attr 'unsafe-inline'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Returns the lines of an error's stack, followed by its causes', for a problem document in development. */
export function stackLines(error: unknown): string[] {
  const lines: string[] = [];
  for (let one: unknown = error; one instanceof Error && lines.length < 200; one = one.cause) {
    const heading = lines.length === 0 ? "" : "Caused by: ";
    lines.push(...`${heading}${one.stack ?? one.message}`.split("\n").map((line) => line.trim()));
  }
  return lines;
}
