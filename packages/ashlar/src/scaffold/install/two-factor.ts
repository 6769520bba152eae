import type { PublishedFiles } from "../../boot/index.ts";
import { codeOf } from "../files/existing-files.ts";
import { TWO_FACTOR } from "./personal-tokens.ts";
import {
  AUTHENTICATORS_STEP,
  authenticatorMigrations,
  hasAccountPages,
  type PublishedStep,
  publishedStubs,
  requireAccounts,
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
      PROVIDER,
      AUTHENTICATORS_STEP,
      NAMED_MIDDLEWARE,
      WEB_MIDDLEWARE,
      routesStep(hasPages),
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

const PROVIDER: PublishedStep = {
  file: "config/providers.ts",
  done: /\bTwoFactorProvider\b/,
  lines: [`import { TwoFactorProvider } from "${FROM}";`, "// in PROVIDERS, after AuthProvider:", "TwoFactorProvider,"],
  adds: {
    imports: [{ name: "TwoFactorProvider", from: FROM }],
    to: ["PROVIDERS"],
    text: "TwoFactorProvider",
  },
};

const NAMED_MIDDLEWARE: PublishedStep = {
  file: "app/kernel.ts",
  done: /\bTwoFactorMiddleware\b/,
  lines: [
    `import { TwoFactorMiddleware } from "${FROM}";`,
    "// in routeMiddleware:",
    '"two-factor": [TwoFactorMiddleware],',
  ],
  adds: {
    imports: [{ name: "TwoFactorMiddleware", from: FROM }],
    to: ["Kernel", "routeMiddleware"],
    text: '"two-factor": [TwoFactorMiddleware]',
  },
};

const WEB_MIDDLEWARE: PublishedStep = {
  file: "app/kernel.ts",
  done: /\bTwoFactorSetupMiddleware\b/,
  lines: [
    `import { TwoFactorSetupMiddleware } from "${FROM}";`,
    "// in routeMiddleware.web, after LoadUserMiddleware:",
    "TwoFactorSetupMiddleware,",
  ],
  adds: {
    imports: [{ name: "TwoFactorSetupMiddleware", from: FROM }],
    to: ["Kernel", "routeMiddleware", "web"],
    text: "TwoFactorSetupMiddleware",
  },
};

function routesStep(hasPages: boolean): PublishedStep {
  const options = hasPages ? "" : ", { json: true }";
  const controllers = "{ login: TwoFactorLoginController, account: TwoFactorAccountController }";
  const routes = `...TwoFactor.routes(${controllers}${options})`;
  const imports = [
    { name: "TwoFactor", from: FROM },
    { name: "TwoFactorAccountController", from: `../${ACCOUNT}` },
    { name: "TwoFactorLoginController", from: `../${LOGIN}` },
  ];
  return {
    file: "routes/web.ts",
    done: /\bTwoFactor\.routes\(/,
    lines: [...imports.map(({ name, from }) => `import { ${name} } from "${from}";`), "// in ROUTES:", `${routes},`],
    adds: { imports, to: ["ROUTES"], text: routes },
  };
}

/** The mail about changes, with the layout of the other mails. */
const MAIL: PublishedStep = {
  file: "config/auth.ts",
  done: /\btwoFactorChanged\s*:/,
  lines: [
    'import { TwoFactorChangedMail } from "../app/mailables/two-factor-changed-mail.ts";',
    "// in ACCOUNTS.mailables:",
    "twoFactorChanged: TwoFactorChangedMail,",
  ],
  adds: {
    imports: [{ name: "TwoFactorChangedMail", from: "../app/mailables/two-factor-changed-mail.ts" }],
    to: ["ACCOUNTS", "mailables"],
    text: "twoFactorChanged: TwoFactorChangedMail",
  },
};
