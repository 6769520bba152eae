import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import {
  authenticatorCode,
  createTestClient,
  resetDatabase,
  type TestClient,
  type TestResponse,
  travel,
} from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { type BootOptions, bootApplication, userClass } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { send } from "./feature-shop.ts";
import { edit, generateApplication } from "./generated-application.ts";

export const EMAIL = "ada@example.com";
export const PASSWORD = "a password of hers";
export const CREDENTIALS: { readonly email: string; readonly password: string } = { email: EMAIL, password: PASSWORD };

/** How an application with two-factor authentication differs from a generated one. */
export interface TwoFactorShopOptions extends BootOptions {
  /** Whether passkeys are added by the same command; default: `false`. */
  readonly passkeys?: boolean;
  /** Settings of `config/two-factor.ts`, as text: `trustDays: 30`. */
  readonly settings?: readonly string[];
  /** Changes of generated files: the path, what is replaced, and with what. */
  readonly edits?: readonly (readonly [file: string, ...changes: (readonly [before: string, after: string])[]])[];
}

/** A generated application, to which `ashlar auth --two-factor` was added, and an API. */
export class TwoFactorShop {
  readonly application: Application;
  readonly root: string;
  readonly User: typeof FullUser;
  readonly #end: () => Promise<void>;

  private constructor(application: Application, root: string, User: typeof FullUser, end: () => Promise<void>) {
    this.application = application;
    this.root = root;
    this.User = User;
    this.#end = end;
  }

  static async install({
    settings = [],
    edits = [],
    passkeys = false,
    ...options
  }: TwoFactorShopOptions = {}): Promise<TwoFactorShop> {
    const { root, remove } = await generateApplication({});
    for (const command of [
      ["api:install", "--many"],
      ["auth", "--two-factor", ...(passkeys ? ["--passkeys"] : [])],
    ]) {
      const { code, errors } = await ashlar(root, ...command);
      expect([command, code, errors]).toEqual([command, 0, ""]);
    }
    await edit(root, "config/api.ts", [
      "authenticates: true,",
      "authenticates: true,\n    authenticationClaims: true,",
    ]);
    await withSettings(root, settings);
    for (const [file, ...changes] of edits) await edit(root, file, ...changes);
    const { application, end } = await bootApplication(root, options);
    return new TwoFactorShop(application, root, await userClass(root), async () => {
      await end();
      await remove();
    });
  }

  end(): Promise<void> {
    return this.#end();
  }

  /** Removes all users and attempts, and creates one. */
  async addAda(): Promise<FullUser> {
    await resetDatabase(this.application);
    return this.addUser("Ada", EMAIL);
  }

  async addUser(name: string, email: string): Promise<FullUser> {
    const user = new this.User().fill({ name, email });
    await user.setPassword(PASSWORD);
    return await user.save();
  }

  visitor(address?: string): TestClient {
    return createTestClient(this.application, address === undefined ? {} : { address });
  }

  /** A visitor who has entered the password, and the page that they are led to. */
  async halfIn(
    address?: string,
    email: string = EMAIL,
  ): Promise<{ readonly client: TestClient; readonly page: TestResponse }> {
    const client = this.visitor(address);
    const page = await client.follow(await send(client, "/login", { email, password: PASSWORD }));
    return { client, page };
  }

  async loggedIn(email: string = EMAIL): Promise<TestClient> {
    const { client } = await this.halfIn(undefined, email);
    return client;
  }

  /** A user who has set up an app, the client on which that was done, and the codes that the page showed. */
  async userWithApp(): Promise<UserWithApp> {
    const ada = await this.addAda();
    const client = await this.loggedIn();
    return { ada, client, ...(await this.enrol(client)) };
  }

  /** A client that has logged in with the password and a code. */
  async loggedInWith(app: App): Promise<TestClient> {
    const { client, page } = await this.halfIn();
    (await client.submit(page, { code: app.next() })).assertRedirect("/home");
    return client;
  }

  /** Sets up an app on the page of an account. */
  async enrol(client: TestClient): Promise<Pick<UserWithApp, "app" | "recoveryCodes">> {
    const page = await client.get("/account/two_factor/app");
    const app = new App(secretOn(page));
    const done = await client.submit(page, '[action="/account/two_factor/app"]', { code: app.shown });
    return { app, recoveryCodes: codesOn(done.assertStatus(201)) };
  }

  async rows(table: string): Promise<readonly Row[]> {
    return await this.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
  }

  /** The rows of the table of authenticators, of one kind. */
  async authenticators(kind: string): Promise<readonly Row[]> {
    return (await this.rows("authenticators")).filter((row) => row.kind === kind);
  }
}

export interface UserWithApp {
  readonly ada: FullUser;
  readonly client: TestClient;
  readonly app: App;
  readonly recoveryCodes: readonly string[];
}

/** An authenticator app. */
export class App {
  readonly secret: string;

  constructor(secret: string) {
    this.secret = secret;
  }

  /** The code that it shows now. */
  get shown(): string {
    return authenticatorCode(this.secret);
  }

  /** Waits for the next code. */
  next(): string {
    travel(0.5);
    return this.shown;
  }
}

/** The secret on the page that sets an app up. */
export function secretOn(page: TestResponse): string {
  return /secret=([A-Z2-7]{32})/.exec(page.text)?.[1] ?? expect.fail("The page has no secret.");
}

/** The recovery codes on a page. */
export function codesOn(page: TestResponse): readonly string[] {
  return page.pageText.match(/\b(?:[a-z2-7]{4}-){3}[a-z2-7]{4}\b/g) ?? [];
}

/** Replaces settings of `config/two-factor.ts`. */
async function withSettings(root: string, settings: readonly string[]): Promise<void> {
  const file = join(root, "config/two-factor.ts");
  let text = await readFile(file, "utf8");
  for (const setting of settings) {
    const [name] = /^\w+/.exec(setting)!;
    text = text.replace(new RegExp(`^  ${name}: .*$`, "m"), () => `  ${setting},`);
  }
  await writeFile(file, text);
}
