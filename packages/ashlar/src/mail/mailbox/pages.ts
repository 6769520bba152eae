import { createHash } from "node:crypto";
import type { MailAddress } from "../message/mail-address.ts";
import type { MailMessage } from "../message/mail-message.ts";
import { Html, html, linked } from "./html.ts";
import type { KeptMail } from "./mailbox.ts";
import type { PreviewList } from "./previews.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:#1d2327;--soft:#5b666e;--paper:#fbfaf8;--card:#fff;--line:#d9d5cf;--mark:#9a3b1f}
@media (prefers-color-scheme:dark){:root{--ink:#ece9e4;--soft:#a3a9ad;--paper:#16191b;--card:#1d2124;--line:#34393d;--mark:#f0946f}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
header,main{max-width:60rem;margin:0 auto;padding:1.25rem 1.5rem}
header{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;align-items:baseline}
header p{margin:0;font-weight:600}
nav ul{display:flex;gap:1.25rem;margin:0;padding:0;list-style:none}
a{color:var(--mark);text-underline-offset:.15em}
a[aria-current]{color:inherit;text-decoration:none;font-weight:600}
:focus-visible{outline:3px solid var(--mark);outline-offset:2px;border-radius:2px}
h1{margin:.5rem 0 1.25rem;font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}
h2{margin:2rem 0 .5rem;font-size:1.05rem}
.mails{margin:0;padding:0;list-style:none;border:1px solid var(--line);border-radius:.5rem;background:var(--card)}
.mails li{padding:.75rem 1rem;overflow-wrap:anywhere}
.mails li+li{border-top:1px solid var(--line)}
.mails p{margin:0}
.soft{color:var(--soft);font-size:.9rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.25rem;margin:0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
iframe{display:block;width:100%;height:36rem;border:1px solid var(--line);border-radius:.5rem;background:#fff}
pre{margin:0;padding:1rem;border:1px solid var(--line);border-radius:.5rem;background:var(--card);
white-space:pre-wrap;overflow-wrap:anywhere;font:.9rem/1.5 ui-monospace,monospace}
@media (max-width:30rem){dl{grid-template-columns:1fr}dd{margin-bottom:.5rem}}
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** The policy of the mailbox's own pages: only this style, and frames from the same origin. */
export const PAGE_POLICY: string = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The permissions of a mail's frame, which may only open links in new windows. */
export const SANDBOX = "allow-popups allow-popups-to-escape-sandbox";

/** The page that lists the mails. */
export function listPage(mails: readonly KeptMail[], isOn: boolean, prefix: string): string {
  const none = isOn
    ? html`<p>No mail yet. In development, the application's mail appears here instead of being delivered.</p>`
    : html`<p>Mails are not kept here: MAIL.transport in config/mail.ts sends them elsewhere.</p>`;
  const items = mails.map(({ id, message }) => {
    return html`<li><p><a href="${prefix}/${id}">${titleOf(message)}</a></p>
<p class="soft">To ${line(message.to)} · ${moment(message.date)}</p></li>
`;
  });
  const list = mails.length === 0 ? none : html`<ul class="mails">${items}</ul>`;
  const kept = html`${list}
<p class="soft">The mailbox is emptied whenever the application starts; with --watch, that's after every saved change.</p>`;
  return layout("Mails", { section: "mailbox", prefix }, isOn ? kept : list);
}

/** The page that lists the mailables with a preview. */
export function previewsPage({ previews, problems }: PreviewList, prefix: string): string {
  const none = html`<p>No class in app/mailables has a static preview() method that creates one with sample data, and neither has a mail of a feature.</p>`;
  const items = previews.map(({ name }) => {
    return html`<li><a href="${prefix}/preview/${name}">${name}</a></li>
`;
  });
  const failures = problems.map(({ file, problem }) => {
    return html`<h2>app/mailables/${file} could not be loaded</h2>
<pre>${problem}</pre>
`;
  });
  return layout(
    "Previews",
    { section: "preview", prefix },
    html`${previews.length === 0 ? none : html`<ul class="mails">${items}</ul>`}${failures}`,
  );
}

/**
 * The page that shows a mail.
 *
 * @param path the page's path, such as `/dev/mailbox/7`; the mail's parts are below it
 */
export function mailPage(message: MailMessage, path: string, place: Place): string {
  const body = html`<dl>
<dt>From</dt><dd>${line([message.from])}</dd>
${people("To", message.to)}${people("Cc", message.cc)}${people("Bcc", message.bcc)}${people("Reply to", message.replyTo)}<dt>Date</dt><dd>${moment(message.date)}</dd>
${fields(message)}<dt>Class</dt><dd>${message.mailable}</dd>
<dt>As sent</dt><dd><a href="${path}/source">Source</a></dd>
</dl>
${attachments(message, path)}${htmlPart(message, path)}<h2>Text</h2>
<pre>${linked(message.text)}</pre>
<p class="soft"><a href="${path}/text">Text only</a></p>`;
  return layout(titleOf(message), place, body);
}

/** The page for a mail or preview that can't be shown. */
export function problemPage(title: string, problem: string, place: Place): string {
  return layout(title, place, html`<pre>${problem}</pre>`);
}

/** A mail's HTML for its frame, with links that open in a new window. */
export function framed(mail: string): string {
  const base = '<base target="_blank">';
  const head = /<head(?:\s[^>]*)?>/i.exec(mail);
  if (head === null) return base + mail;
  const end = head.index + head[0].length;
  return mail.slice(0, end) + base + mail.slice(end);
}

/** Which of the two lists a page belongs to, and the path of the mailbox. */
export interface Place {
  readonly section: "mailbox" | "preview";
  readonly prefix: string;
}

function layout(title: string, { section, prefix }: Place, body: Html): string {
  return `<!doctype html>\n${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Mailbox</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<header><p>Development mailbox</p>
<nav aria-label="Mailbox"><ul>
<li>${tab("Mails", prefix, section === "mailbox")}</li>
<li>${tab("Previews", `${prefix}/preview`, section === "preview")}</li>
</ul></nav>
</header>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`}`;
}

function tab(text: string, path: string, isCurrent: boolean): Html {
  return isCurrent ? html`<a href="${path}" aria-current="true">${text}</a>` : html`<a href="${path}">${text}</a>`;
}

function htmlPart(message: MailMessage, path: string): Html {
  if (message.html === null) return html``;
  return html`<h2>HTML</h2>
<iframe sandbox="${SANDBOX}" src="${path}/html" title="The mail as HTML"></iframe>
<p class="soft"><a href="${path}/html">HTML only</a></p>
`;
}

function attachments(message: MailMessage, path: string): Html {
  if (message.attachments.length === 0) return html``;
  const items = message.attachments.map(({ filename, content }, index) => {
    return html`<li><a href="${path}/attachments/${index}">${filename}</a> <span class="soft">${Buffer.byteLength(content)} bytes</span></li>
`;
  });
  return html`<h2>Attachments</h2>
<ul class="mails">${items}</ul>
`;
}

function fields({ headers = [] }: MailMessage): Html {
  const items = headers.map(
    ({ name, value }) => html`<dt>${name}</dt><dd>${linked(value)}</dd>
`,
  );
  return html`${items}`;
}

function people(label: string, addresses: readonly MailAddress[]): Html {
  return addresses.length === 0
    ? html``
    : html`<dt>${label}</dt><dd>${line(addresses)}</dd>
`;
}

function line(addresses: readonly MailAddress[]): string {
  return addresses.map(({ address, name }) => (name === null ? address : `${name} <${address}>`)).join(", ");
}

function moment(date: Date): Html {
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>`;
}

function titleOf({ subject }: MailMessage): string {
  return subject.trim() === "" ? "(no subject)" : subject;
}
