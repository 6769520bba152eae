import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { AccountServices } from "../../src/auth/accounts/account-services.ts";
import type { Application, ProviderClass } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import { createTestClient, resetDatabase, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { type BootOptions, bootApplication, userClass } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { edit, generateApplication } from "./generated-application.ts";

const FOLDER = join(import.meta.dirname, "..", "features");

/** How the author of an application installs a feature. */
interface Installation {
  readonly folder: string;
  readonly provider: string;
  /** The install command. */
  readonly command: string;
  /** The classes whose `routes()` the command asks the author to add. */
  readonly controllers: readonly string[];
}

/** A feature from `test/features` that users log in with. */
export type FeatureName = "totp" | "passkeys" | "provider";

const FEATURES: Readonly<Record<FeatureName, Installation>> = {
  totp: { folder: "totp", provider: "TotpProvider", command: "totp:install", controllers: ["TotpController"] },
  passkeys: {
    folder: "passkeys",
    provider: "PasskeysProvider",
    command: "passkeys:install",
    controllers: ["PasskeyLoginController", "PasskeysController"],
  },
  provider: {
    folder: "provider",
    provider: "ExampleSiteProvider",
    command: "example-site:install",
    controllers: ["ExampleSiteController", "IdentitiesController"],
  },
};

const BY_NO_ONE = { by: null, reason: null, address: null };

export const EMAIL = "ada@example.com";
export const PASSWORD = "a password of hers";

/** A step of the application: ends access to the account before a login takes effect, if the request says so. */
const ENDING = `import type { LoginStep } from "ashlar/auth";
import { User } from "../models/user.ts";

export const ending: LoginStep<User> = {
  name: "ending",
  async check({ context, user }) {
    if (context.request.input("end_access") === "1") await (await User.findOrFail(user.id)).endAccess();
    return "passed";
  },
};
`;

/** A generated application with features, installed as an author does it. */
export class FeatureShop {
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly #end: () => Promise<void>;

  private constructor(application: Application, User: typeof FullUser, end: () => Promise<void>) {
    this.application = application;
    this.User = User;
    this.#end = end;
  }

  /**
   * Generates the application, runs the install commands, and follows what they print.
   *
   * @param options how it is booted, with its own providers and those in `providers`
   */
  static async install(
    features: readonly FeatureName[],
    { personal = false, ...options }: BootOptions & { readonly personal?: boolean } = {},
  ): Promise<FeatureShop> {
    const { root, remove } = await generateApplication({});
    // This has to come before any command, because the process loads the file only once.
    for (const name of features) await listProvider(root, FEATURES[name]);
    await done(root, "api:install", "--many");
    await edit(root, "config/api.ts", [
      "authenticates: true,",
      "authenticates: true,\n    authenticationClaims: true,",
    ]);
    await mkdir(join(root, "app/steps"), { recursive: true });
    await writeFile(join(root, "app/steps/ending.ts"), ENDING);
    await edit(
      root,
      "config/auth.ts",
      ["// Who the application's", 'import { ending } from "../app/steps/ending.ts";\n\n// Who the application\'s'],
      ["  // steps: [terms],", "  steps: [ending],"],
    );
    for (const name of features) await install(root, FEATURES[name]);
    if (personal) await done(root, "tokens:install");
    const { PROVIDERS } = (await import(join(root, "config/providers.ts"))) as { PROVIDERS: readonly ProviderClass[] };
    const providers = [...PROVIDERS, ...(options.providers ?? [])];
    const { application, end } = await bootApplication(root, { ...options, providers });
    return new FeatureShop(application, await userClass(root), async () => {
      await end();
      await remove();
    });
  }

  end(): Promise<void> {
    return this.#end();
  }

  /** Removes all users and attempts. */
  async reset(): Promise<void> {
    await resetDatabase(this.application);
  }

  /** Removes all users and attempts, and creates a user. */
  async addAda(password: string | null = PASSWORD): Promise<FullUser> {
    await this.reset();
    return this.addUser("Ada", EMAIL, password);
  }

  async addUser(name: string, email: string, password: string | null = PASSWORD): Promise<FullUser> {
    const user = new this.User().fill({ name, email });
    if (password !== null) await user.setPassword(password);
    return await user.save();
  }

  /** A visitor, who may be logged in with the password. */
  visitor(address?: string): TestClient {
    return createTestClient(this.application, address === undefined ? {} : { address });
  }

  async loggedIn(email: string = EMAIL, password: string = PASSWORD): Promise<TestClient> {
    const client = this.visitor();
    (await send(client, "/login", { email, password })).assertStatus(302);
    return client;
  }

  async block(user: FullUser): Promise<void> {
    await this.#accounts.blocks.block("web", await this.#stored(user), BY_NO_ONE);
  }

  async unblock(user: FullUser): Promise<void> {
    await this.#accounts.blocks.unblock("web", await this.#stored(user), BY_NO_ONE);
  }

  /** Ends access to a user's account, as a new password would. */
  async endAccess(user: FullUser): Promise<void> {
    await (await this.#stored(user)).endAccess();
  }

  /** What is stored about a user, as `users:export` writes it. */
  async exported(user: FullUser): Promise<Readonly<Record<string, unknown>>> {
    const { userData, users } = this.#accounts;
    const guards = users.guardsKeeping(this.User);
    return userData.export({ user: await this.#stored(user), id: user.id, guards, email: user.email });
  }

  /** The names of the proofs that a user's login can begin with. */
  async waysIn(user: FullUser): Promise<readonly string[]> {
    const owned = await this.application.container.make("proofs").ownedBy(await this.#stored(user));
    return owned.filter(({ startsLogins }) => startsLogins).map(({ name }) => name);
  }

  async delete(user: FullUser): Promise<void> {
    await (await this.#stored(user)).delete();
  }

  /** The rows of logins that are complete. */
  async logins(): Promise<readonly Row[]> {
    return (await this.rows("logins")).filter(({ access_epoch }) => access_epoch !== "pending");
  }

  /** The rows of a table. */
  async rows(table: string): Promise<readonly Row[]> {
    return await this.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
  }

  get #accounts(): AccountServices {
    return this.application.container.make("accounts");
  }

  #stored(user: FullUser): Promise<FullUser> {
    return this.User.findOrFail(user.id);
  }
}

/** Fills in the page's form that posts to the page's own path, or to the given one. */
export async function send(
  client: TestClient,
  path: string,
  fields: Readonly<Record<string, string>> = {},
  action: string = path,
): Promise<TestResponse> {
  return client.submit(await client.get(path), `[action="${action}"]`, fields);
}

/** The claims of an API token. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
}

/** The token endpoint's response if users have several tokens. */
export interface TokenPair {
  readonly data: string;
  readonly refresh: string;
}

/** Renews a token pair, and returns the proofs that its tokens name, before and after. */
export async function renewedAmr(client: TestClient, { data, refresh }: TokenPair): Promise<readonly unknown[]> {
  const renewed = (await client.postJson("/api/reauth", { token: refresh })).assertStatus(200).json as TokenPair;
  (await client.withToken(renewed.data).getJson("/api/me")).assertStatus(200);
  return [claimsOf(data).amr, claimsOf(renewed.data).amr];
}

async function done(root: string, ...command: string[]): Promise<string> {
  const { code, output, errors } = await ashlar(root, ...command);
  expect([code, errors]).toEqual([0, ""]);
  return output;
}

async function listProvider(root: string, { folder, provider }: Installation): Promise<void> {
  await edit(
    root,
    "config/providers.ts",
    ["// The active features.", `import { ${provider} } from ${indexOf(folder)};\n\n// The active features.`],
    ["  AuthProvider,", `  AuthProvider,\n  ${provider},`],
  );
}

async function install(root: string, { folder, command, controllers }: Installation): Promise<void> {
  const output = await done(root, command);
  for (const controller of controllers) expect(output).toContain(`...${controller}.routes(),`);
  const routes = controllers.map((controller) => `  ...${controller}.routes(),\n`).join("");
  await edit(
    root,
    "routes/web.ts",
    ["export const ROUTES", `import { ${controllers.join(", ")} } from ${indexOf(folder)};\n\nexport const ROUTES`],
    ["  ...Csrf.routes(),\n", `${routes}  ...Csrf.routes(),\n`],
  );
}

function indexOf(folder: string): string {
  return JSON.stringify(join(FOLDER, folder, "index.ts"));
}
