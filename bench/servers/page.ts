// The benchmark's page for the other servers: written by hand, which is as fast as a template can be.

/** The headers that every server sends with the page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'",
  "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy":
    "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), midi=(), serial=(), usb=()",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Finds a live login by its digest, and its user. */
export const FIND_LOGIN = `SELECT users.*, logins.id AS login_id, logins.expires_at, logins.last_used_at
  FROM logins INNER JOIN users ON users.id = logins.user_id WHERE logins.token_hash = ?`;

/** Finds the row of an access token, and its user. */
export const FIND_TOKEN = `SELECT users.name, users.email, users.access_epoch AS epoch, api_tokens.access_epoch,
  api_tokens.user_id, api_tokens.expires_at, api_tokens.revoked_at
  FROM api_tokens INNER JOIN users ON users.id = api_tokens.user_id WHERE api_tokens.family = ? AND api_tokens.guard = 'jwt'`;

/** A row of {@link FIND_TOKEN}. */
export interface AccessRow {
  readonly name: string;
  readonly email: string;
  readonly epoch: string;
  readonly access_epoch: string;
  readonly user_id: number;
  readonly expires_at: string;
  readonly revoked_at: string | null;
}

/** Reports whether a row lets its user in. */
export function isActive(row: AccessRow | undefined, subject: string): row is AccessRow {
  if (row === undefined || row.revoked_at !== null || row.epoch !== row.access_epoch) return false;
  return String(row.user_id) === subject && Date.parse(row.expires_at) > Date.now();
}

/** A row of {@link FIND_LOGIN}. */
export interface LoginRow {
  readonly name: string;
  readonly email: string;
  readonly expires_at: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;",
};

function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!) : text;
}

export function page({ name, email }: { readonly name: string; readonly email: string }): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Home</title>
    <link rel="stylesheet" href="/style.css">
  </head>
  <body>
    <main>
      <h1>Hello, ${escapeHtml(name)}</h1>
      <p>You are logged in as ${escapeHtml(email)}.</p>
    </main>
  </body>
</html>
`;
}
