import type { PublishedFiles } from "../../boot/index.ts";
import { codeOf } from "../files/existing-files.ts";
import { TWO_FACTOR } from "./personal-tokens.ts";
import {
  AUTHENTICATORS_STEP,
  addingStep,
  authenticatorMigrations,
  hasAccountPages,
  mailableStep,
  type PublishedStep,
  providerStep,
  publishedStubs,
  requireAccounts,
  routesStep,
} from "./published-stubs.ts";

const CONTROLLERS = "app/controllers/auth";
const LOGIN = `${CONTROLLERS}/two-factor-login-controller.ts`;
const ACCOUNT = `${CONTROLLERS}/two-factor-account-controller.ts`;

/** The stubs, by the path of what they become. */
const ALWAYS: Readonly<Record<string, string>> = { "config/two-factor.ts": "two-factor.ts" };
const WITHOUT_PAGES: Readonly<Record<string, string>> = {
  [LOGIN]: "two-factor-login-controller.json.ts",
  [ACCOUNT]: "two-factor-account-controller.json.ts",
  "tests/two-factor.test.ts": "two-factor.json.test.ts",
};
const WITH_PAGES: Readonly<Record<string, string>> = {
  [LOGIN]: "two-factor-login-controller.ts",
  [ACCOUNT]: "two-factor-account-controller.ts",
  "views/auth/two_factor.edge": "two_factor.edge",
  "views/auth/two_factor_app.edge": "two_factor_app.edge",
  "views/auth/recovery_codes.edge": "recovery_codes.edge",
  "views/auth/account_two_factor.edge": "account_two_factor.edge",
  "app/mailables/two-factor-changed-mail.ts": "two-factor-changed-mail.ts",
  "views/mails/two_factor_changed.html.edge": "two_factor_changed.html.edge",
  "views/mails/two_factor_changed.text.edge": "two_factor_changed.text.edge",
  "tests/two-factor.test.ts": "two-factor.test.ts",
};

/**
 * The files that two-factor authentication needs: the migration of its table, its settings, pages, mail and test; and what turns it
 * on in the author's files.
 *
 * @throws `E_COMMAND` if the application has no accounts
 */
export async function twoFactorFiles(root: string): Promise<PublishedFiles> {
  await requireAccounts(root);
  const hasPages = hasAccountPages(root);
  return {
    files: await publishedStubs("two-factor", { ...ALWAYS, ...(hasPages ? WITH_PAGES : WITHOUT_PAGES) }),
    migrations: await authenticatorMigrations(),
    steps: [
      providerStep("TwoFactorProvider", FROM, "in PROVIDERS, after AuthProvider"),
      AUTHENTICATORS_STEP,
      NAMED_MIDDLEWARE,
      WEB_MIDDLEWARE,
      ownRoutesStep(hasPages),
      ...(/\bApi\.personalTokens\(/.test(await codeOf(root, "routes/web.ts")) ? [PERSONAL_TOKENS] : []),
      ...(hasPages ? [MAIL] : []),
    ],
  };
}

/** Only the author knows which other middleware these routes have. */
const PERSONAL_TOKENS: PublishedStep = {
  file: "routes/web.ts",
  done: /\bApi\.personalTokens\([^\n]*two-factor/,
  lines: ["// after Api.personalTokens(…), because a token outlasts a login:", `.middleware("${TWO_FACTOR}"),`],
};

const FROM = "ashlar/two-factor";

const NAMED_MIDDLEWARE = addingStep({
  file: "app/kernel.ts",
  done: /\bTwoFactorMiddleware\b/,
  imports: [{ name: "TwoFactorMiddleware", from: FROM }],
  place: "in routeMiddleware",
  to: ["Kernel", "routeMiddleware"],
  text: '"two-factor": [TwoFactorMiddleware]',
});

const WEB_MIDDLEWARE = addingStep({
  file: "app/kernel.ts",
  done: /\bTwoFactorSetupMiddleware\b/,
  imports: [{ name: "TwoFactorSetupMiddleware", from: FROM }],
  place: "in routeMiddleware.web, after LoadUserMiddleware",
  to: ["Kernel", "routeMiddleware", "web"],
  text: "TwoFactorSetupMiddleware",
});

function ownRoutesStep(hasPages: boolean): PublishedStep {
  const options = hasPages ? "" : ", { json: true }";
  const controllers = "{ login: TwoFactorLoginController, account: TwoFactorAccountController }";
  const routes = `...TwoFactor.routes(${controllers}${options})`;
  const imports = [
    { name: "TwoFactor", from: FROM },
    { name: "TwoFactorAccountController", from: `../${ACCOUNT}` },
    { name: "TwoFactorLoginController", from: `../${LOGIN}` },
  ];
  return routesStep(routes, /\bTwoFactor\.routes\(/, imports);
}

const MAIL = mailableStep("twoFactorChanged", "TwoFactorChangedMail", "../app/mailables/two-factor-changed-mail.ts");
