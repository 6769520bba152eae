import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { generateSecret } from "../security/index.ts";
import { setMissingVariable } from "./env-file.ts";
import { writeNewFile } from "./files.ts";
import { filesIn, MIGRATIONS, migrationPath } from "./make.ts";
import { readStub } from "./stub.ts";

/** What `api:install` did, and what is left to do by hand. */
export interface ApiInstallation {
  /** The files it wrote, relative to the application's root. */
  readonly written: readonly string[];
  /** Whether it made a secret; `false` where `.env` held one. */
  readonly secretMade: boolean;
  /** The steps that remain: the file to open, and the lines it needs. */
  readonly remaining: readonly RemainingStep[];
}

/** A change to make by hand. */
export interface RemainingStep {
  readonly file: string;
  readonly lines: readonly string[];
}

/** A step that is done when a file of the application matches. */
interface Step extends RemainingStep {
  readonly done: RegExp;
}

const STEPS: readonly Step[] = [
  {
    file: "config/providers.ts",
    done: /\bApiProvider\b/,
    lines: ['import { ApiProvider } from "ashlar/api";', "// in PROVIDERS, after AuthProvider:", "ApiProvider,"],
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
      "// among the mixins of the class:",
      "export class User extends compose(Model, Authenticates, AuthenticatesTokens) {",
    ],
  },
  {
    file: "routes/web.ts",
    done: /\bApi\.routes\(/,
    lines: ['import { Api } from "ashlar/api";', "// in ROUTES:", "...Api.routes(),"],
  },
];

/** The text of a file without its comments, so that a step that is only written about does not count as done. */
async function codeOf(root: string, file: string): Promise<string> {
  try {
    const text = await readFile(join(root, file), "utf8");
    return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

async function hasTokenColumn(root: string): Promise<boolean> {
  for (const file of await filesIn(root, MIGRATIONS)) {
    if ((await codeOf(root, `${MIGRATIONS}/${file}`)).includes("api_token")) return true;
  }
  return false;
}

/**
 * Puts the API's own files into an application: `config/api.ts`, `routes/api.ts` and the migration of the token column
 * where they are absent, and a secret into `.env` where it has none. What is there is never changed, so a second run
 * does nothing.
 *
 * @param root the application's folder
 */
export async function installApi(root: string): Promise<ApiInstallation> {
  const written: string[] = [];
  const write = async (path: string, stub: string): Promise<void> => {
    if (await writeNewFile(root, { path, text: await readStub(stub, {}) })) written.push(path);
  };
  await write("config/api.ts", "api/config.ts");
  await write("routes/api.ts", "api/routes.ts");
  if (!(await hasTokenColumn(root)))
    await write(await migrationPath(root, "add_api_token_to_users"), "api/migration.ts");
  const secretMade = await setMissingVariable(join(root, ".env"), "JWT_SECRET", generateSecret());

  const remaining: RemainingStep[] = [];
  for (const { file, done, lines } of STEPS) {
    if (!done.test(await codeOf(root, file))) remaining.push({ file, lines });
  }
  return { written, secretMade, remaining };
}
