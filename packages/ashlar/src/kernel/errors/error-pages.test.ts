import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { AshlarError, ValidationError } from "../../support/index.ts";
import { errorPage, PAGE_HEADERS } from "./error-pages.ts";
import { problemOf } from "./problem.ts";
import "../../http/errors.ts";

describe("errorPage", () => {
  test("shows status, title and message", () => {
    const page = errorPage(problemOf(new AshlarError("E_NOT_FOUND")));
    expect(page.slice(page.indexOf("<body>"))).toBe(`<body>
<main>
<p class="status">404</p>
<h1>Not Found</h1>
<p>The page or resource was not found.</p>
</main>
</body>
</html>
`);
  });

  test("lists the problems by field, and shows the reference if there is one", () => {
    const page = errorPage(
      problemOf(new ValidationError({ email: ["Required.", "No address."], "": ["Nothing fits."] })),
      "42",
    );
    expect(page).toContain(
      "<ul>\n<li>email: Required.</li>\n<li>email: No address.</li>\n<li>Nothing fits.</li>\n</ul>\n" +
        '<p class="reference">Reference: 42</p>\n',
    );
  });

  test("S41 nothing from the request becomes markup", () => {
    const nasty = `<script>alert("1")</script>'&`;
    const page = errorPage(problemOf(new ValidationError({ [nasty]: [nasty] }, nasty)), nasty);
    expect(page).not.toContain("<script");
    expect(page.match(/&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;&amp;/g)).toHaveLength(4);
  });

  test("S41 leads back to a form's page by exactly its URL, whatever its query contains", () => {
    const url = `/search?q="a"&tags=<b>&name='c'`;
    const page = errorPage(problemOf(new ValidationError({})), null, undefined, undefined, {
      url,
      message: null,
      notes: [],
    });
    expect(page).toContain(
      '<p><a class="button" href="/search?q=&quot;a&quot;&amp;tags=&lt;b&gt;&amp;name=&#39;c&#39;">Back to the page</a></p>',
    );
  });

  test("S49 the policy allows the page's own style by its digest, but no scripts and no frames", () => {
    const page = errorPage(problemOf(new AshlarError("E_NOT_FOUND")));
    const [, style] = /<style>([\s\S]*)<\/style>/.exec(page)!;
    const digest = createHash("sha256").update(style!).digest("base64");
    expect(PAGE_HEADERS["content-security-policy"]).toBe(
      `default-src 'none'; style-src 'sha256-${digest}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(page).not.toMatch(/<script|style=|\son\w+=|https?:/i);
  });
});
