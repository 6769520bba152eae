import { join } from "node:path";
import { readEnvFile } from "../support/index.ts";
import { writeNewFile } from "./files.ts";
import { type FilledSecrets, fillSecrets } from "./fill-secrets.ts";
import { migrationPath, migrationsMention } from "./make.ts";
import { type RemainingStep, remainingSteps, type Step } from "./remaining-steps.ts";
import { readStub } from "./stub.ts";

/** What `api:install` did, and what is left to do by hand. */
export interface ApiInstallation {
  /** The files it wrote, relative to the application's root. */
  readonly written: readonly string[];
  /** The secrets it made: none of those that `.env` held. */
  readonly secrets: FilledSecrets;
  /** The steps that remain: the file to open, and the lines it needs. */
  readonly remaining: readonly RemainingStep[];
}

const STEPS: readonly Step[] = [
  {
    file: "config/providers.ts",
    done: /\bApiProvider\b/,
    lines: ['import { ApiProvider } from "ashlar/api";', "// in PROVIDERS, after AuthProvider:", "ApiProvider,"],
  },
  {
    file: "config/providers.ts",
    done: /\bThrottleProvider\b/,
    lines: [
      'import { ThrottleProvider } from "ashlar/throttle";',
      "// in PROVIDERS, before AuthProvider: without limits, passwords can be guessed at /api/auth without end",
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
  {
    file: "app/models/user.ts",
    done: /\bAuthenticatesTokens\b/,
    lines: [
      'import { AuthenticatesTokens } from "ashlar/api";',
      "// add the mixin to the class: compose(Model, Authenticates, AuthenticatesTokens)",
    ],
  },
  {
    file: "routes/web.ts",
    done: /\bApi\.routes\(/,
    lines: ['import { Api } from "ashlar/api";', "// in ROUTES:", "...Api.routes(),"],
  },
];

/**
 * Puts the API's own files into an application: `config/api.ts`, `config/throttle.ts`, `routes/api.ts`, the migrations of
 * the columns of the token and the access epoch where they are absent, and the secrets that `.env` lacks. What is there is
 * never changed, so a second run does nothing.
 *
 * @param root the application's folder
 */
export async function installApi(root: string): Promise<ApiInstallation> {
  // One that cannot be read ends it before anything is written.
  readEnvFile(join(root, ".env"));
  const written: string[] = [];
  const write = async (path: string, stub: string): Promise<void> => {
    if (await writeNewFile(root, { path, text: await readStub(stub, {}) })) written.push(path);
  };
  await write("config/api.ts", "api/config.ts");
  await write("config/throttle.ts", "application/config/throttle.ts");
  await write("routes/api.ts", "api/routes.ts");
  if (!(await migrationsMention(root, "api_token")))
    await write(await migrationPath(root, "add_api_token_to_users"), "api/migration.ts");
  if (!(await migrationsMention(root, "access_epoch")))
    await write(await migrationPath(root, "add_access_epoch_to_users"), "auth/migrations/add_access_epoch_to_users.ts");
  const secrets = await fillSecrets(root);

  return { written, secrets, remaining: await remainingSteps(root, STEPS) };
}
