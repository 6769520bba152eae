import { expect, test } from "vitest";
import { Api, ApiProvider } from "../../src/public/api.ts";
import type { LoginStep } from "../../src/public/auth.ts";
import { declareFeature, type Feature, Provider } from "../../src/public/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { ADA, FullUser, PASSWORD, testAccounts } from "../support/account-application.ts";

/** A feature with a sentence, in two languages. */
class BlockedProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "blocked",
    messages: {
      english: { "app.blocked": "Blocked for {days} days." },
      translations: { de: async () => ({ MESSAGES: { "app.blocked": "Für {days} Tage gesperrt." } }) },
    },
  });
}

const blocked: LoginStep = {
  name: "blocked",
  check: ({ context }) => ({ failed: context.t.message("app.blocked", { days: 3 }) }),
};

test("a login step refuses with a message key, and pages and the API show the message in the user's language", async () => {
  class User extends FullUser {}
  const accounts = await testAccounts({
    User,
    providers: [ApiProvider, BlockedProvider],
    config: {
      app: { APP: { languages: ["de"] } },
      api: { DRIVERS: { jwt: { secret: generateSecret(), model: User } } },
    },
    guards: { steps: [blocked] },
    routes: [...Api.routes()],
  });
  const visitor = accounts.visitor();
  const german = { "accept-language": "de" };
  await visitor.post("/login", { email: ADA.email, password: PASSWORD }, german);
  // The page says it in its own visitor's language, even if the form was sent in another.
  expect(String((await visitor.get("/login")).body)).toContain("Blocked for 3 days.");
  const program = { ...german, accept: "application/json" };
  const page = await accounts.visitor().post("/login", { email: ADA.email, password: PASSWORD }, program);
  expect(page.body).toMatchObject({
    status: 422,
    errors: { email: [{ rule: "app.blocked", params: { days: 3 }, message: "Für 3 Tage gesperrt." }] },
  });
  const api = await accounts.visitor().post("/api/auth", { username: ADA.email, password: PASSWORD }, program);
  expect(api.body).toMatchObject({
    status: 403,
    code: "E_LOGIN_REFUSED",
    detail: "Für 3 Tage gesperrt.",
    step: "blocked",
  });
});
