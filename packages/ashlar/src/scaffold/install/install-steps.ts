import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiProvider } from "../../api/index.ts";
import { AuthProvider } from "../../auth/index.ts";
import type { ProviderClass } from "../../boot/index.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { EventProvider } from "../../events/index.ts";
import { MailProvider } from "../../mail/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { AshlarError } from "../../support/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { Code } from "../edits/code.ts";
import { initialValueOf } from "../edits/declarations.ts";
import { all, declaring, importing, inList, inObject, inRoutes } from "../edits/edits.ts";
import { binding, inHttpMiddleware, inMiddleware } from "../edits/kernel-edits.ts";
import { type Composition, compositionOf, mixing, overriding } from "../edits/user-model-edits.ts";
import type { ApplicationTraits } from "../files/stub-files.ts";
import { ACCOUNT_MAILS, PROVIDERS, variableLines } from "./declared-parts.ts";
import { type CodeStep, manifestStep, type RemainingStep, type Step, variablesStep } from "./steps.ts";

/** A feature that can be added to an existing application. */
export type Feature = "pages" | "json" | "api";

/** The names of the providers, in the order in which they start. */
const ORDER = PROVIDERS.map(([{ name }]) => name);

/** The providers that a feature needs, each after the one before it. */
function providers(...needed: readonly ProviderClass[]): readonly CodeStep[] {
  return needed.map((one, index) => {
    const place = index === 0 ? "before the others" : `after ${needed[index - 1]!.name}`;
    return provider(one, `in PROVIDERS, ${place}:`);
  });
}

function provider(provider: ProviderClass, place: string): CodeStep {
  const [{ name }, from] = PROVIDERS.find(([one]) => one === provider)!;
  return {
    file: "config/providers.ts",
    adds: name,
    edit: inList("PROVIDERS", name, from, ORDER),
    lines: [`import { ${name} } from "${from}";`, `// ${place}`, `${name},`],
  };
}

const middleware = (key: string, name: string, from: string): CodeStep => ({
  file: "app/kernel.ts",
  adds: key,
  edit: inMiddleware(key, [{ name, from }]),
  lines: [
    `import { ${name} } from "${from}";`,
    "// in routeMiddleware:",
    `${/\W/.test(key) ? `"${key}"` : key}: [${name}],`,
  ],
});

const mixin = (name: string, from: string, others: string): CodeStep => {
  const lines = [`import { ${name} } from "${from}";`, `// add the mixin to the class: compose(${others}, ${name})`];
  return {
    file: "app/models/user.ts",
    adds: name,
    edit: mixing(name, from),
    lines,
    linesIn: async (text, file) => mixinLines({ name, lines }, await compositionIn(text, file)),
  };
};

const MAIL_VARIABLES = variableLines("mail");

const MAILABLE_IMPORTS = ACCOUNT_MAILS.map(({ name, file }) => [name, `../app/mailables/${file}.ts`] as const).toSorted(
  ([, one], [, other]) => (one < other ? -1 : 1),
);

const ACCOUNTS = [
  "export const ACCOUNTS = {",
  "  mailables: {",
  ...ACCOUNT_MAILS.map(({ key, name }) => `    ${key}: ${name},`),
  "  },",
  "};",
];

const CONTROLLERS = "../app/controllers/auth/index.ts";

const WEB = [
  { name: "SecurityHeadersMiddleware", from: "ashlar" },
  { name: "SessionMiddleware", from: "ashlar/session" },
  { name: "LoadUserMiddleware", from: "ashlar/auth" },
  { name: "VerifyCsrfToken", from: "ashlar/session" },
] as const;

const VERIFIED = middleware("verified", "VerifiesEmailMiddleware", "ashlar/auth");
const MUST_VERIFY = mixin("MustVerifyEmail", "ashlar/auth", "Model, Authenticates");

const accountRoutes = (given: string): CodeStep => ({
  file: "routes/web.ts",
  adds: "Auth.routes",
  edit: (code) => {
    const made = inRoutes("Auth", "ashlar/auth", given)(code);
    return made === null || made === code ? made : importing("AuthControllers", CONTROLLERS)(made);
  },
  lines: [
    'import { Auth } from "ashlar/auth";',
    'import { AuthControllers } from "../app/controllers/auth/index.ts";',
    "// in ROUTES:",
    `...Auth.routes(${given}),`,
  ],
});

const CSRF_ROUTES: CodeStep = {
  file: "routes/web.ts",
  adds: "Csrf.routes",
  edit: inRoutes("Csrf", "ashlar/session", ""),
  lines: ['import { Csrf } from "ashlar/session";', "// in ROUTES:", "...Csrf.routes(),"],
};

const CORS: CodeStep = {
  file: "app/kernel.ts",
  adds: "CorsMiddleware",
  edit: inHttpMiddleware("CorsMiddleware", "ashlar"),
  lines: ['import { CorsMiddleware } from "ashlar";', "// first in httpMiddleware:", "CorsMiddleware,"],
};

const PAGES: readonly Step[] = [
  ...providers(
    ...[DatabaseProvider, EventProvider, ViewProvider, SessionProvider, ThrottleProvider, MailProvider, AuthProvider],
  ),
  {
    file: "app/kernel.ts",
    adds: "web",
    edit: inMiddleware("web", WEB, "VerifyCsrfToken"),
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
  middleware("confirm", "ConfirmPasswordMiddleware", "ashlar/auth"),
  VERIFIED,
  middleware("throttle", "ThrottleMiddleware", "ashlar/throttle"),
  mixin("Authenticates", "ashlar/auth", "Model"),
  MUST_VERIFY,
  {
    file: "config/auth.ts",
    adds: "GUARDS.default",
    edit: inObject("GUARDS", "default", "web", "first"),
    lines: ["// in GUARDS:", 'default: "web",'],
  },
  {
    file: "config/auth.ts",
    adds: "GUARDS.web",
    edit: all(importing("User", "../app/models/user.ts"), inObject("GUARDS", "web", "{ model: User }")),
    lines: ['import { User } from "../app/models/user.ts";', "// in GUARDS:", "web: { model: User },"],
  },
  {
    file: "config/auth.ts",
    adds: "ACCOUNTS",
    edit: (code) =>
      initialValueOf(code, "ACCOUNTS") === null
        ? all(...MAILABLE_IMPORTS.map(([name, from]) => importing(name, from)), declaring("ACCOUNTS", ACCOUNTS))(code)
        : code,
    lines: [...MAILABLE_IMPORTS.map(([name, from]) => `import { ${name} } from "${from}";`), ...ACCOUNTS],
  },
  accountRoutes("AuthControllers"),
  CSRF_ROUTES,
  variablesStep(".env.example", MAIL_VARIABLES),
  variablesStep(".env", MAIL_VARIABLES),
  manifestStep("test", "node --test tests/*.test.ts"),
];

const FRONT_END_VARIABLES = variableLines("accounts");

const JSON_MAILABLES = ["NewDeviceMail", "../app/mailables/new-device-mail.ts"] as const;

const JSON_ACCOUNTS = [
  "export const ACCOUNTS = {",
  '  frontEndUrl: env("FRONTEND_URL"),',
  "  mailables: { newDevice: NewDeviceMail },",
  "};",
];

/** The steps for accounts without pages. */
const JSON_STEPS: readonly Step[] = [
  ...PAGES.flatMap((step): readonly Step[] => {
    const { adds } = step as CodeStep;
    if (adds === "ViewProvider") return [];
    if (adds === "Auth.routes") return [accountRoutes("AuthControllers, { json: true }")];
    return adds === "ACCOUNTS" ? [jsonAccountsStep()] : [step];
  }),
  CORS,
  variablesStep(".env.example", FRONT_END_VARIABLES),
  variablesStep(".env", FRONT_END_VARIABLES),
];

function jsonAccountsStep(): CodeStep {
  return {
    file: "config/auth.ts",
    adds: "ACCOUNTS",
    edit: (code) =>
      initialValueOf(code, "ACCOUNTS") === null
        ? all(importing("env", "ashlar"), importing(...JSON_MAILABLES), declaring("ACCOUNTS", JSON_ACCOUNTS))(code)
        : code,
    lines: [
      'import { env } from "ashlar";',
      `import { ${JSON_MAILABLES[0]} } from "${JSON_MAILABLES[1]}";`,
      ...JSON_ACCOUNTS,
    ],
  };
}

/** If the author has chosen the column already, the class has to override the mixin's. */
const TOKENS: CodeStep = (({ edit, ...step }) => ({ ...step, edit: all(edit, overriding("tokenColumn")) }))(
  mixin("AuthenticatesTokens", "ashlar/api", "Model, Authenticates"),
);

const API: readonly Step[] = [
  ...providers(DatabaseProvider, AuthProvider, ApiProvider),
  provider(
    ThrottleProvider,
    "in PROVIDERS, before AuthProvider: without limits, an attacker can guess passwords at /api/auth forever",
  ),
  {
    file: "app/kernel.ts",
    adds: "routes.api.location",
    edit: binding({ "routes.api.location": "routes/api", "routes.api.prefix": "/api" }),
    lines: [
      "// in registerRoutes():",
      'this.container.bind("routes.api.location", "routes/api");',
      'this.container.bind("routes.api.prefix", "/api");',
    ],
  },
  {
    file: "app/kernel.ts",
    adds: "api",
    edit: inMiddleware(
      "api",
      [{ name: "JWTAuthenticationMiddleware", from: "ashlar/api" }],
      "JWTAuthenticationMiddleware",
    ),
    lines: [
      'import { JWTAuthenticationMiddleware } from "ashlar/api";',
      "// in routeMiddleware:",
      "api: [JWTAuthenticationMiddleware],",
    ],
  },
  mixin("Authenticates", "ashlar/auth", "Model"),
  TOKENS,
  {
    file: "routes/web.ts",
    adds: "Api.routes",
    edit: inRoutes("Api", "ashlar/api", ""),
    lines: ['import { Api } from "ashlar/api";', "// in ROUTES:", "...Api.routes(),"],
  },
  middleware("auth", "AuthenticationMiddleware", "ashlar/auth"),
  middleware("guard", "GuardMiddleware", "ashlar/auth"),
  middleware("ability", "AbilityMiddleware", "ashlar/api"),
  middleware("any-ability", "AnyAbilityMiddleware", "ashlar/api"),
  // `.env` itself gets the secret.
  variablesStep(".env.example", variableLines("api")),
];

const STEPS: Readonly<Record<Feature, readonly Step[]>> = { pages: PAGES, json: JSON_STEPS, api: API };

/**
 * The changes to make in files that are no longer as generated.
 *
 * @param traits the application's traits after the installation
 */
export function stepsFor(feature: Feature, { verification, apiNames }: ApplicationTraits): readonly Step[] {
  // Users with several tokens don't need the column or its mixin.
  const steps = apiNames?.tokenColumn === null ? STEPS[feature].filter((step) => step !== TOKENS) : STEPS[feature];
  return verification || feature === "api" ? steps : steps.filter((step) => step !== VERIFIED && step !== MUST_VERIFY);
}

/** The providers that a feature needs, in the order in which they start. */
export function providersFor(feature: Feature): readonly ProviderClass[] {
  const names = new Set(STEPS[feature].map((step) => ("adds" in step ? step.adds : undefined)));
  return PROVIDERS.map(([provider]) => provider).filter(({ name }) => names.has(name));
}

/**
 * The lines for the author to add for one part of a feature, with the file that they belong in.
 *
 * @param adds what the lines add: a provider, a mixin, middleware by its name, `Api.routes`
 */
export function linesFor(feature: Feature, adds: string): RemainingStep {
  const step = STEPS[feature].find((one) => "adds" in one && one.adds === adds);
  if (step === undefined) throw new AshlarError("E_INTERNAL", `No step of "${feature}" adds ${adds}.`);
  return { file: step.file, lines: step.lines };
}

/**
 * The lines that add a mixin to a model, including the mixins that its class already has. If these can't be read, the
 * lines only name the missing mixin.
 *
 * @param model the name of the class
 */
export async function linesForMixin(
  root: string,
  feature: Feature,
  { name, model }: { readonly name: string; readonly model: string },
): Promise<RemainingStep> {
  const { file, lines } = linesFor(feature, name);
  const text = await readFile(join(root, file), "utf8").catch(() => "");
  const composition = await compositionIn(text, file);
  return { file, lines: mixinLines({ name, lines }, composition?.className === model ? composition : null) };
}

/** The lines that add a mixin to a class. If the class's composition is unknown, they only name the mixin. */
function mixinLines(
  { name, lines }: { readonly name: string; readonly lines: readonly string[] },
  composition: Composition | null,
): string[] {
  const [base, ...mixins] = composition?.parts ?? [];
  const others = lines.filter((line) => !line.startsWith("//"));
  if (base === undefined) return [...others, `// add the mixin to the class: ${name}`];
  // The other mixins need it.
  const composed = name === "Authenticates" ? [base, name, ...mixins] : [base, ...mixins, name];
  return [...others, `// add the mixin to the class: compose(${composed.join(", ")})`];
}

async function compositionIn(text: string, file: string): Promise<Composition | null> {
  try {
    return compositionOf(await Code.of(text, file));
  } catch {
    return null;
  }
}
