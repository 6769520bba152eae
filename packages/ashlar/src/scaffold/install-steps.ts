import type { Step } from "./remaining-steps.ts";

/** A feature that can be added to an existing application. */
export type Feature = "pages" | "api";

const provider = (name: string, from: string, place: string): Step => ({
  file: "config/providers.ts",
  done: new RegExp(`\\b${name}\\b`),
  lines: [`import { ${name} } from "${from}";`, `// in PROVIDERS, ${place}:`, `${name},`],
});

const middleware = (key: string, name: string, from: string): Step => ({
  file: "app/kernel.ts",
  done: new RegExp(`(?<![\\w.])["']?${key.replace(".", "\\.")}["']?\\s*:`),
  lines: [
    `import { ${name} } from "${from}";`,
    "// in routeMiddleware:",
    `${/\W/.test(key) ? `"${key}"` : key}: [${name}],`,
  ],
});

const mixin = (name: string, from: string): Step => ({
  file: "app/models/user.ts",
  done: new RegExp(`\\b${name}\\b`),
  lines: [
    `import { ${name} } from "${from}";`,
    `// add the mixin to the class: compose(Model, Authenticates, ${name})`,
  ],
});

/** Variables in a file, one per line. */
const variables = (file: string, name: string, lines: readonly string[]): Step => ({
  file,
  done: new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=`, "m"),
  lines,
});

const MAIL_VARIABLES = [
  "# Mail is sent by SMTP in production; in development it is shown at /dev/mailbox.",
  "MAIL_FROM=",
  "SMTP_HOST=",
  "SMTP_PORT=587",
  "SMTP_USER=",
  "SMTP_PASSWORD=",
];

/** The placeholder script `test` that npm writes into a new manifest. */
const NO_TESTS = String.raw`echo \\"Error: no test specified`;

const PAGES: readonly Step[] = [
  provider("DatabaseProvider", "ashlar/database", "before the others"),
  provider("EventProvider", "ashlar/events", "after DatabaseProvider"),
  provider("ViewProvider", "ashlar/views", "after EventProvider"),
  provider("SessionProvider", "ashlar/session", "after ViewProvider"),
  provider("ThrottleProvider", "ashlar/throttle", "after SessionProvider"),
  provider("MailProvider", "ashlar/mail", "after ThrottleProvider"),
  provider("AuthProvider", "ashlar/auth", "after MailProvider"),
  {
    file: "app/kernel.ts",
    done: /\bweb\s*:\s*\[[^\]]*\bVerifyCsrfToken\b/,
    lines: [
      'import { SecurityHeadersMiddleware } from "ashlar";',
      'import { LoadUserMiddleware } from "ashlar/auth";',
      'import { SessionMiddleware, VerifyCsrfToken } from "ashlar/session";',
      "// in routeMiddleware, in this order:",
      "web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken],",
    ],
  },
  middleware("auth", "AuthenticationMiddleware", "ashlar/auth"),
  middleware("auth.page", "AuthPageMiddleware", "ashlar/auth"),
  middleware("password.confirm", "ConfirmPasswordMiddleware", "ashlar/auth"),
  middleware("verified", "VerifiesEmailMiddleware", "ashlar/auth"),
  middleware("throttle", "ThrottleMiddleware", "ashlar/throttle"),
  mixin("MustVerifyEmail", "ashlar/auth"),
  {
    file: "config/auth.ts",
    done: /\bweb\s*:/,
    lines: ["// in GUARDS:", 'default: "web",', "web: { model: User },"],
  },
  {
    file: "config/auth.ts",
    done: /\bACCOUNTS\b/,
    lines: [
      'import { EmailChangeCompletedMail } from "../app/mailables/email-change-completed-mail.ts";',
      'import { EmailChangeUndoneMail } from "../app/mailables/email-change-undone-mail.ts";',
      'import { EmailChangedMail } from "../app/mailables/email-changed-mail.ts";',
      'import { EmailTakenMail } from "../app/mailables/email-taken-mail.ts";',
      'import { FinishRegistrationMail } from "../app/mailables/finish-registration-mail.ts";',
      'import { NewDeviceMail } from "../app/mailables/new-device-mail.ts";',
      'import { PasswordChangedMail } from "../app/mailables/password-changed-mail.ts";',
      'import { ResetPasswordMail } from "../app/mailables/reset-password-mail.ts";',
      'import { VerifyEmailMail } from "../app/mailables/verify-email-mail.ts";',
      "export const ACCOUNTS = {",
      "  mailables: {",
      "    verifyEmail: VerifyEmailMail,",
      "    resetPassword: ResetPasswordMail,",
      "    finishRegistration: FinishRegistrationMail,",
      "    passwordChanged: PasswordChangedMail,",
      "    emailChanged: EmailChangedMail,",
      "    emailChangeCompleted: EmailChangeCompletedMail,",
      "    emailChangeUndone: EmailChangeUndoneMail,",
      "    emailTaken: EmailTakenMail,",
      "    newDevice: NewDeviceMail,",
      "  },",
      "};",
    ],
  },
  {
    file: "routes/web.ts",
    done: /\bAuth\.routes\(/,
    lines: [
      'import { Auth } from "ashlar/auth";',
      'import { AuthControllers } from "../app/controllers/auth/index.ts";',
      "// in ROUTES:",
      "...Auth.routes(AuthControllers),",
    ],
  },
  variables(".env.example", "MAIL_FROM", MAIL_VARIABLES),
  variables(".env", "MAIL_FROM", MAIL_VARIABLES),
  {
    file: "package.json",
    done: new RegExp(`"test"\\s*:\\s*"(?!${NO_TESTS})`),
    lines: ["// in scripts:", '"test": "node --test tests/*.test.ts"'],
  },
];

const API: readonly Step[] = [
  provider("DatabaseProvider", "ashlar/database", "before the others"),
  provider("AuthProvider", "ashlar/auth", "after DatabaseProvider"),
  provider("ApiProvider", "ashlar/api", "after AuthProvider"),
  {
    file: "config/providers.ts",
    done: /\bThrottleProvider\b/,
    lines: [
      'import { ThrottleProvider } from "ashlar/throttle";',
      "// in PROVIDERS, before AuthProvider: without limits, an attacker can guess passwords at /api/auth forever",
      "ThrottleProvider,",
    ],
  },
  {
    file: "app/kernel.ts",
    done: /["']routes\.api\.location["']/,
    lines: [
      "// in registerRoutes():",
      'this.container.bind("routes.api.location", "routes/api");',
      'this.container.bind("routes.api.prefix", "/api");',
    ],
  },
  {
    file: "app/kernel.ts",
    done: /\bJWTAuthenticationMiddleware\b/,
    lines: [
      'import { JWTAuthenticationMiddleware } from "ashlar/api";',
      "// in routeMiddleware:",
      "api: [JWTAuthenticationMiddleware],",
    ],
  },
  mixin("AuthenticatesTokens", "ashlar/api"),
  {
    file: "routes/web.ts",
    done: /\bApi\.routes\(/,
    lines: ['import { Api } from "ashlar/api";', "// in ROUTES:", "...Api.routes(),"],
  },
  middleware("guard", "GuardMiddleware", "ashlar/auth"),
  // `.env` itself gets the secret.
  variables(".env.example", "JWT_SECRET", [
    "# 64 random bytes, base64url, that API tokens are signed with: npx ashlar key:generate",
    "JWT_SECRET=",
  ]),
];

/** What to do by hand in files that are no longer as generated. */
export const STEPS: Readonly<Record<Feature, readonly Step[]>> = { pages: PAGES, api: API };
