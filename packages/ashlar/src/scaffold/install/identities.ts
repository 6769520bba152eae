import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PublishedFiles } from "../../boot/index.ts";
import { AshlarError, suggestion } from "../../support/index.ts";
import { hasAccountPages, type PublishedStep, publishedStubs } from "./published-stubs.ts";
import { dependencyStep, type TextStep, variablesStep } from "./steps.ts";

const FOLDER = "app/controllers/auth";
const ACCOUNTS = `${FOLDER}/index.ts`;
const LOGIN = `${FOLDER}/identity-login-controller.ts`;
const IDENTITIES = `${FOLDER}/identities-controller.ts`;
const SETTINGS = "config/identities.ts";
const API_SETTINGS = "config/api.ts";
const FROM = "ashlar/identities";

/** The package that the logins need, and its versions. */
const CLIENT = ["openid-client", "^6.9.0"] as const;

/** The stubs, by the path of what they become. */
const WITHOUT_PAGES: Readonly<Record<string, string>> = {
  [LOGIN]: "identity-login-controller.json.ts",
  [IDENTITIES]: "identities-controller.json.ts",
};
const WITH_PAGES: Readonly<Record<string, string>> = {
  [LOGIN]: "identity-login-controller.ts",
  [IDENTITIES]: "identities-controller.ts",
  "views/auth/identities.edge": "identities.edge",
  "views/auth/confirm_identity.edge": "confirm_identity.edge",
  "views/auth/identity_refused.edge": "identity_refused.edge",
};

const USUAL = { clientId: "CLIENT_ID", clientSecret: "CLIENT_SECRET" };

/** The providers by name: the function that makes each, and its settings, with the ends of their variables' names. */
const PROVIDERS: Readonly<
  Record<string, { readonly make: string; readonly settings: Readonly<Record<string, string>> }>
> = {
  google: { make: "google", settings: USUAL },
  microsoft: { make: "microsoft", settings: USUAL },
  apple: {
    make: "apple",
    settings: { clientId: "CLIENT_ID", teamId: "TEAM_ID", keyId: "KEY_ID", privateKey: "PRIVATE_KEY" },
  },
  github: { make: "github", settings: USUAL },
  gitlab: { make: "gitlab", settings: USUAL },
  discord: { make: "discord", settings: USUAL },
  facebook: { make: "facebook", settings: USUAL },
  linkedin: { make: "linkedin", settings: USUAL },
  openid: { make: "openId", settings: { issuer: "ISSUER", ...USUAL } },
};

/**
 * Reads the names of providers in an option: `google,github`.
 *
 * @throws `E_COMMAND` if one isn't known, or the option is empty
 */
export function readProviderNames(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim().toLowerCase()))].filter((name) => name !== "");
  const unknown = names.find((name) => !Object.hasOwn(PROVIDERS, name));
  if (names.length > 0 && unknown === undefined) return names;
  const known = Object.keys(PROVIDERS);
  const problem = unknown === undefined ? "No provider is named." : `"${unknown}" is not a known provider.`;
  const hint = unknown === undefined ? "" : ` ${suggestion(unknown, known)}`;
  throw new AshlarError("E_COMMAND", `${problem}${hint} Known are: ${known.join(", ")}.`);
}

/**
 * The files that logins by other sites need: the settings, the migration of the table, the pages; and what turns them on in the
 * author's files.
 *
 * @param names as returned by {@link readProviderNames}
 * @throws `E_COMMAND` if the application has no accounts
 */
export async function identityFiles(root: string, names: readonly string[]): Promise<PublishedFiles> {
  if (!existsSync(join(root, ACCOUNTS))) {
    throw new AshlarError("E_COMMAND", "The application has no accounts. To add them: npx ashlar auth");
  }
  const hasPages = hasAccountPages(root);
  const hasSettings = existsSync(join(root, SETTINGS));
  return {
    files: {
      ...(hasSettings ? {} : { [SETTINGS]: settingsText(names) }),
      ...(await publishedStubs("identities", hasPages ? WITH_PAGES : WITHOUT_PAGES)),
    },
    migrations: await publishedStubs("identities", { create_identities: "create_identities.ts" }),
    steps: [
      PROVIDER_STEP,
      ...(hasSettings ? names.map(settingsStep) : []),
      routesStep(hasPages),
      ...(existsSync(join(root, API_SETTINGS)) ? [TOKENS_STEP] : []),
      ...(hasPages ? VIEW_STEPS : []),
    ],
  };
}

/** The package in `package.json`, and the variables. */
export function identityTexts(names: readonly string[]): readonly TextStep[] {
  const lines = names.flatMap((name) =>
    Object.values(PROVIDERS[name]!.settings).map((end) => `${variable(name, end)}=`),
  );
  return [dependencyStep(...CLIENT), variablesStep(".env.example", lines), variablesStep(".env", lines)];
}

function variable(name: string, end: string): string {
  return `${name.toUpperCase()}_${end}`;
}

function settingsText(names: readonly string[]): string {
  const makers = [...names.map((name) => PROVIDERS[name]!.make), "type IdentitiesSettings"];
  const sorted = makers.toSorted((one, other) => one.replace("type ", "").localeCompare(other.replace("type ", "")));
  return [
    'import { env } from "ashlar";',
    `import { ${sorted.join(", ")} } from "${FROM}";`,
    "",
    "export const IDENTITIES = {",
    "  // The sites whose users can log in here. One whose variables in .env are empty is left out.",
    "  providers: {",
    ...names.map((name) => `    ${entryOf(name)},`),
    "  },",
    "} satisfies IdentitiesSettings;",
    "",
  ].join("\n");
}

function entryOf(name: string): string {
  const { make, settings } = PROVIDERS[name]!;
  const read = Object.entries(settings).map(([setting, end]) => {
    const fallback = setting === "issuer" ? ', ""' : "";
    return `${setting}: env("${variable(name, end)}"${fallback})`;
  });
  const line = `${name}: ${make}({ ${read.join(", ")} })`;
  return line.length <= 110 ? line : `${name}: ${make}({\n${read.map((one) => `      ${one},\n`).join("")}    })`;
}

function settingsStep(name: string): PublishedStep {
  const { make } = PROVIDERS[name]!;
  const entry = entryOf(name);
  return {
    file: SETTINGS,
    done: new RegExp(`\\b${make}\\(`),
    lines: [`import { ${make} } from "${FROM}";`, "// in IDENTITIES.providers:", `${entry},`],
    adds: { imports: [{ name: make, from: FROM }], to: ["IDENTITIES", "providers"], text: entry },
  };
}

const PROVIDER_STEP: PublishedStep = {
  file: "config/providers.ts",
  done: /\bIdentitiesProvider\b/,
  lines: [`import { IdentitiesProvider } from "${FROM}";`, "// in PROVIDERS:", "IdentitiesProvider,"],
  adds: {
    imports: [{ name: "IdentitiesProvider", from: FROM }],
    to: ["PROVIDERS"],
    text: "IdentitiesProvider",
  },
};

const TOKENS_STEP: PublishedStep = {
  file: "routes/web.ts",
  done: /\bIdentities\.tokens\(/,
  lines: [`import { Identities } from "${FROM}";`, "// in ROUTES:", "...Identities.tokens(),"],
  adds: { imports: [{ name: "Identities", from: FROM }], to: ["ROUTES"], text: "...Identities.tokens()" },
};

function routesStep(hasPages: boolean): PublishedStep {
  const options = hasPages ? "" : ", { json: true }";
  const text = `...Identities.routes({ login: IdentityLoginController, identities: IdentitiesController }${options})`;
  const imports = [
    { name: "Identities", from: FROM },
    { name: "IdentitiesController", from: `../${IDENTITIES}` },
    { name: "IdentityLoginController", from: `../${LOGIN}` },
  ];
  return {
    file: "routes/web.ts",
    done: /\bIdentities\.routes\(/,
    lines: [...imports.map(({ name, from }) => `import { ${name} } from "${from}";`), "// in ROUTES:", `${text},`],
    adds: { imports, to: ["ROUTES"], text },
  };
}

/** The pages of an application that was generated by an earlier release have no place for other sites. */
const VIEW_STEPS: readonly PublishedStep[] = [
  {
    file: "views/auth/login.edge",
    done: /identities\.login/,
    lines: [
      "{{-- below the form: --}}",
      "@each(provider in identities.providers)",
      '  <form class="or" method="post" action="{{ auth.route("identities.login", { provider: provider.name }) }}">',
      "    {{ csrf_field }}",
      '    <button class="wide quiet">{{ t("identities.logIn", { provider: provider.label }) }}</button>',
      "  </form>",
      "@end",
    ],
  },
  {
    file: "views/home.edge",
    done: /account\.identities/,
    lines: ['<a href="{{ auth.route("account.identities") }}">{{ t("identities.title") }}</a>'],
  },
];
