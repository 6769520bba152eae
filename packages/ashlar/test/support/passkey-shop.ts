import { expect } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import { createTestClient, resetDatabase, type TestClient } from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { type BootOptions, bootApplication, userClass } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { edit, generateApplication } from "./generated-application.ts";
import { addPasskey, PasskeyDevice } from "./passkey-device.ts";

export const EMAIL = "ada@example.com";
export const PASSWORD = "a password of hers";

/** A generated application with passkeys, installed as its author does. */
export class PasskeyShop {
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly root: string;
  readonly end: () => Promise<void>;

  private constructor(application: Application, User: typeof FullUser, root: string, end: () => Promise<void>) {
    this.application = application;
    this.User = User;
    this.root = root;
    this.end = end;
  }

  /** @param change changes the generated files before the application boots */
  static async install(
    options: BootOptions = {},
    change: (root: string) => Promise<void> = async () => {},
  ): Promise<PasskeyShop> {
    const database = typeof options.engine === "object" ? options.engine.name : "sqlite";
    const { root, remove } = await generateApplication({ database: database as "sqlite" });
    const { code, errors } = await ashlar(root, "auth", "--passkeys");
    expect([code, errors]).toEqual([0, ""]);
    await edit(root, "config/api.ts", [
      "authenticates: true,",
      "authenticates: true,\n    authenticationClaims: true,",
    ]);
    await change(root);
    const { application, end } = await bootApplication(root, options);
    return new PasskeyShop(application, await userClass(root), root, async () => {
      await end();
      await remove();
    });
  }

  /** Removes all users and attempts, and creates a user. */
  async addAda(password: string | null = PASSWORD): Promise<FullUser> {
    await resetDatabase(this.application);
    return this.addUser("Ada", EMAIL, password);
  }

  async addUser(name: string, email: string, password: string | null = PASSWORD): Promise<FullUser> {
    const user = new this.User().fill({ name, email });
    if (password !== null) await user.setPassword(password);
    return await user.save();
  }

  visitor(address?: string): TestClient {
    return createTestClient(this.application, address === undefined ? {} : { address });
  }

  async loggedIn(): Promise<TestClient> {
    const client = this.visitor();
    const page = await client.get("/login");
    (await client.submit(page, '[action="/login"]', { email: EMAIL, password: PASSWORD })).assertRedirect("/home");
    return client;
  }

  /** A user who has added a passkey, and is logged in. */
  async userWithPasskey(): Promise<{ ada: FullUser; client: TestClient; device: PasskeyDevice }> {
    const ada = await this.addAda();
    const client = await this.loggedIn();
    const device = new PasskeyDevice();
    (await addPasskey(client, device)).assertStatus(201);
    return { ada, client, device };
  }

  /** Takes a user's password away. */
  async forgetPasswords(): Promise<void> {
    await this.application.container.make("database").kysely.updateTable("users").set({ password: null }).execute();
  }

  /** The rows of a table. */
  async rows(table: string): Promise<readonly Row[]> {
    return await this.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
  }
}
