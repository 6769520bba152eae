import { type FetchFunction, ISOLATION_HEADERS } from "../../kernel/index.ts";
import type { MailComposer } from "../composing/mail-composer.ts";
import { type MailAddress, mailAddress } from "../message/mail-address.ts";
import { addressLine, type MailMessage } from "../message/mail-message.ts";
import { mimeSource } from "../message/mime.ts";
import type { Mailbox } from "./mailbox.ts";
import { framed, listPage, mailPage, PAGE_POLICY, type Place, previewsPage, problemPage, SANDBOX } from "./pages.ts";
import { findPreviews } from "./previews.ts";

/** The dependencies of the mailbox's pages. */
export interface MailboxSiteDependencies {
  /** `null` if mails aren't kept in a mailbox; the previews still exist. */
  readonly mailbox: Mailbox | null;
  readonly composer: MailComposer;
  /** The absolute path of `app/mailables`. */
  readonly mailables: string;
  /** Returns the features' mailables. */
  readonly offered: () => readonly unknown[];
  /** The mailbox's path, as visitors see it. */
  readonly prefix: string;
}

/** A mail and its page. */
interface Shown {
  readonly message: MailMessage;
  readonly path: string;
  readonly place: Place;
}

const COMMON: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  // Mails contain links that log a user in, which must not leak to other sites as the referrer.
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** A mail may have styles and images. It can't run scripts, submit forms or embed frames. */
const MAIL_POLICY = `sandbox ${SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https:; font-src data: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`;

const SAMPLE_RECIPIENT: MailAddress = mailAddress("reader@example.com", "The recipient");

/** Serves the paths under the mailbox's prefix: the list, each mail with its parts, and the previews. */
export function mailboxSite(dependencies: MailboxSiteDependencies): FetchFunction {
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return notAllowed();
    const path = new URL(request.url).pathname;
    if (path === "/")
      return page(200, listPage(dependencies.mailbox?.mails ?? [], dependencies.mailbox !== null, dependencies.prefix));
    const [first = "", second, ...rest] = path.slice(1).split("/");
    if (first !== "preview") return showMail(dependencies, first, second === undefined ? [] : [second, ...rest]);
    if (second === undefined || second === "")
      return page(
        200,
        previewsPage(await findPreviews(dependencies.mailables, dependencies.offered()), dependencies.prefix),
      );
    return showPreview(dependencies, second, rest);
  };
}

/** Serves the mails as JSON, newest first. */
export function mailboxJson(mailbox: Mailbox | null): FetchFunction {
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return notAllowed();
    const mails = (mailbox?.mails ?? []).map(({ message }) => ({
      to: addressLine(message.to),
      from: message.from.address,
      subject: message.subject,
      text: message.text,
      html: message.html,
      at: message.date,
    }));
    return Response.json(mails, { headers: COMMON });
  };
}

function showMail(
  { mailbox, prefix }: MailboxSiteDependencies,
  id: string,
  rest: readonly string[],
): Response | Promise<Response> {
  const mail = mailbox?.find(id) ?? null;
  const place: Place = { section: "mailbox", prefix };
  if (mail === null) return missing(place);
  return show({ message: mail.message, path: `${prefix}/${id}`, place }, rest);
}

async function showPreview(
  dependencies: MailboxSiteDependencies,
  name: string,
  rest: readonly string[],
): Promise<Response> {
  const { previews } = await findPreviews(dependencies.mailables, dependencies.offered());
  const preview = previews.find((one) => one.name === name);
  const { prefix } = dependencies;
  const place: Place = { section: "preview", prefix };
  if (preview === undefined) return missing(place);
  let message: MailMessage;
  try {
    const mailable = await preview.make();
    const { to } = mailable.envelope();
    message = await dependencies.composer.compose(mailable, to.length === 0 ? [SAMPLE_RECIPIENT] : []);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return page(500, problemPage(`${name} cannot be shown`, problem, place));
  }
  return show({ message, path: `${prefix}/preview/${name}`, place }, rest);
}

/** Serves a mail, or the part of it named by the rest of the path. */
async function show(
  { message, path, place }: Shown,
  [part = "", index, ...more]: readonly string[],
): Promise<Response> {
  if (part === "attachments" && index !== undefined && more.length === 0) return attachment(message, index, place);
  if (index !== undefined) return missing(place);
  if (part === "") return page(200, mailPage(message, path, place));
  if (part === "text") return plain(message.text);
  if (part === "source") return plain(await mimeSource(message));
  if (part !== "html" || message.html === null) return missing(place);
  return respond(200, framed(message.html), "text/html; charset=utf-8", MAIL_POLICY);
}

function attachment(message: MailMessage, index: string, place: Place): Response {
  const file = /^\d{1,4}$/.test(index) ? message.attachments[Number(index)] : undefined;
  if (file === undefined) return missing(place);
  const name = encodeURIComponent(file.filename.toWellFormed()).replaceAll("'", "%27");
  return new Response(Buffer.from(file.content), {
    headers: {
      ...COMMON,
      // Always downloaded, because an attached page would run on the application's origin.
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename*=UTF-8''${name}`,
    },
  });
}

function missing(place: Place): Response {
  return page(404, problemPage("Not found", "This mail does not exist.", place));
}

function notAllowed(): Response {
  return new Response(null, { status: 405, headers: { ...COMMON, allow: "GET, HEAD" } });
}

function page(status: number, text: string): Response {
  return respond(status, text, "text/html; charset=utf-8", PAGE_POLICY, ISOLATION_HEADERS);
}

function plain(text: string): Response {
  return respond(200, text, "text/plain; charset=utf-8", "default-src 'none'; frame-ancestors 'none'");
}

function respond(
  status: number,
  text: string,
  type: string,
  policy: string,
  more: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, {
    status,
    headers: { ...COMMON, ...more, "content-type": type, "content-security-policy": policy },
  });
}
