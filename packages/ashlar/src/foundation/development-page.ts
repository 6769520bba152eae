import { randomBytes } from "node:crypto";
import type { HttpContext } from "../http/index.ts";
import { redact } from "./redaction.ts";

/** A page, and the headers that let it show. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The page that shows a developer what went wrong: the error, its causes, the source around each line of the stack.
 *
 * Security: it shows source code; it is for development alone.
 */
export async function developmentPage(error: unknown, context: HttpContext, title: string): Promise<Page> {
  // Loaded at the first error: production never does.
  const { Youch } = await import("youch");
  const nonce = randomBytes(16).toString("base64");
  const { request } = context;
  const html = await new Youch().toHTML(error, {
    title,
    cspNonce: nonce,
    request: {
      url: request.getPath(),
      method: request.getRequestMethod(),
      headers: redact(Object.fromEntries(request.raw.headers)) as Record<string, string>,
    },
  });
  return {
    html,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}' 'unsafe-hashes'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
  };
}

/** The lines of an error's stack, its causes' below it, for a problem document in development. */
export function stackLines(error: unknown): string[] {
  const lines: string[] = [];
  for (let one: unknown = error; one instanceof Error && lines.length < 200; one = one.cause) {
    const heading = lines.length === 0 ? "" : "Caused by: ";
    lines.push(...`${heading}${one.stack ?? one.message}`.split("\n").map((line) => line.trim()));
  }
  return lines;
}
