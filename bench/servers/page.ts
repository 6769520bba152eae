// The page of the benchmark as the peers make it: by hand, which is the quickest a template can be.

/** The headers that every server sends with the page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Finds a live session by its digest, and its user. */
export const FIND_SESSION = `SELECT users.*, sessions.id AS session_id, sessions.expires_at, sessions.last_used_at
  FROM sessions INNER JOIN users ON users.id = sessions.user_id WHERE sessions.token_hash = ?`;

/** A row of {@link FIND_SESSION}. */
export interface SessionRow {
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
