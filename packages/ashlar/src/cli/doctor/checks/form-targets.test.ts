import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { SecurityHeadersMiddleware } from "../../../http/index.ts";
import { HttpKernel, type MiddlewareEntry } from "../../../kernel/index.ts";
import { FORM_TARGETS } from "./form-targets.ts";

const KERNEL = `class Strict extends SecurityHeadersMiddleware {
  static override policy = {
    ...SecurityHeadersMiddleware.policy,
    "form-action": "'self' https://pay.example",
  };
}
`;

/** What the check says about an application with this `form-action` and a controller with this statement. */
async function findings(formAction: string | null, statement: string, named = "app/pay.ts") {
  class Strict extends SecurityHeadersMiddleware {
    static override policy = {
      ...SecurityHeadersMiddleware.policy,
      ...(formAction !== null && { "form-action": formAction }),
    };
  }
  class Kernel extends HttpKernel {
    override routeMiddleware: Record<string, readonly MiddlewareEntry[]> = { web: [Strict] };
  }
  const subject = await subjectOf({
    options: { kernel: Kernel, routes: [] },
    files: {
      ".env": "APP_ENV=test\n",
      "app/kernel.ts": KERNEL,
      [named]: `export const pay = () =>\n  ${statement};\n`,
    },
  });
  return await FORM_TARGETS.run(subject);
}

test("a redirect out of the application that the pages' form-action blocks is found, with both places", async () => {
  expect(await findings("'self' https://pay.example", 'response.away("https://login.example/x")')).toMatchObject([
    {
      id: "pages.forms",
      severity: "warning",
      file: "app/kernel.ts",
      line: 4,
      problem:
        "The pages' form-action is 'self' https://pay.example, so browsers block redirects to other origins after a form: app/pay.ts:2.",
      remedy: { file: "app/kernel.ts", remove: `"form-action": "'self' https://pay.example",` },
    },
  ]);
});

test.each<[string | null, string, number]>([
  [null, "response.away(url)", 0],
  ["'self'", "response.away(url)", 1],
  ["'self'", "response.away(new URL('https://pay.example/x'))", 1],
  ["'self'", "response.redirect(url)", 0],
  ["'self' https://pay.example", "response.away(url)", 1],
  ["'self' https://pay.example", "response.away('https://pay.example/checkout')", 0],
  ["'self' https://pay.example", "response.away(`https://PAY.example?id=1`)", 0],
  ["'self' https://pay.example", "response.away(new URL('https://pay.example'))", 0],
  ["'self' https://pay.example", "response.away('https://pay.example.evil.example/')", 1],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
  ["'self' https://pay.example", "response.away(`https://pay.example${suffix}`)", 1],
  ["'self' https:", "response.away(url)", 0],
  ["*", "response.away(url)", 0],
])("with form-action %j, %s is reported %i times", async (formAction, statement, count) => {
  expect(await findings(formAction, statement)).toHaveLength(count);
});

test("packages and tests are not searched", async () => {
  for (const file of ["node_modules/pay/index.js", "tests/pay.test.ts", "public/pay.js", ".cache/pay.js"]) {
    expect([file, await findings("'self'", "response.away(url)", file)]).toEqual([file, []]);
  }
});
