import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { HttpKernel } from "../../../kernel/index.ts";
import type { Check } from "../finding.ts";
import { API } from "./api.ts";
import { PAGES } from "./pages.ts";

class Kernel extends HttpKernel {}

/** A check's findings about an application that lists neither providers nor middleware, as `id problem`. */
async function findingsOf(check: Check, files: Readonly<Record<string, string>>): Promise<string[]> {
  const subject = await subjectOf({
    options: { kernel: Kernel, providers: [], routes: [] },
    files: { ".env": "APP_ENV=test\n", ...files },
  });
  expect(subject.boot.error).toBeNull();
  return (await check.run(subject)).map(({ id, problem }) => `${id} ${problem}`);
}

const lacking = (name: string): string => `pages.provider ${name} is not in PROVIDERS, and the account pages need it.`;

test("every provider and middleware that the account pages lack is a separate finding", async () => {
  const findings = await findingsOf(PAGES, { "app/controllers/auth/index.ts": "", "views/auth/login.edge": "" });
  expect(findings.filter((finding) => !finding.startsWith("pages.routes"))).toEqual([
    lacking("DatabaseProvider"),
    lacking("EventProvider"),
    lacking("ViewProvider"),
    lacking("SessionProvider"),
    lacking("MailProvider"),
    lacking("AuthProvider"),
    "pages.stack The stack web lacks SecurityHeadersMiddleware and SessionMiddleware and LoadUserMiddleware and VerifyCsrfToken.",
    'pages.middleware routeMiddleware has no "auth".',
    'pages.middleware routeMiddleware has no "auth.page".',
    'pages.middleware routeMiddleware has no "password.confirm".',
    'pages.middleware routeMiddleware has no "confirm".',
    'pages.middleware routeMiddleware has no "throttle".',
  ]);
});

test("every provider that API tokens lack is a separate finding", async () => {
  const findings = await findingsOf(API, { "routes/api.ts": "export const ROUTES = [];\n" });
  expect(findings.filter((finding) => finding.startsWith("api.provider"))).toEqual(
    ["DatabaseProvider", "AuthProvider", "ApiProvider"].map(
      (name) => `api.provider ${name} is not in PROVIDERS, so the application has no API tokens.`,
    ),
  );
});
