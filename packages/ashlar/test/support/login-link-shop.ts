import { expect } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import type { CapturedMail } from "../../src/mail/index.ts";
import {
  captureMail,
  createTestClient,
  linksIn,
  type MailCapture,
  resetDatabase,
  type TestClient,
  type TestResponse,
} from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { type BootOptions, bootApplication, userClass } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { edit, generateApplication } from "./generated-application.ts";

export const EMAIL = "ada@example.com";
export const PASSWORD = "a password of hers";

/** What a mail has. */
export interface MailedLogin {
  readonly mail: CapturedMail;
  readonly code: string;
  /** The path of its link; empty without one. */
  readonly link: string;
}

/** A generated application with logins by mail, installed as its author does. */
export class LoginLinkShop {
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly root: string;
  readonly mail: MailCapture;
  readonly end: () => Promise<void>;

  private constructor(
    application: Application,
    User: typeof FullUser,
    root: string,
    mail: MailCapture,
    end: () => Promise<void>,
  ) {
    this.application = application;
    this.User = User;
    this.root = root;
    this.mail = mail;
    this.end = end;
  }

  /** @param change changes the generated files before the application boots */
  static async install(
    options: BootOptions = {},
    change: (root: string) => Promise<void> = async () => {},
  ): Promise<LoginLinkShop> {
    const database = typeof options.engine === "object" ? options.engine.name : "sqlite";
    const { root, remove } = await generateApplication({ database: database as "sqlite" });
    const { code, errors } = await ashlar(root, "auth", "--login-links");
    expect([code, errors]).toEqual([0, ""]);
    await edit(root, "config/api.ts", [
      "authenticates: true,",
      "authenticates: true,\n    authenticationClaims: true,",
    ]);
    await change(root);
    const { application, end } = await bootApplication(root, options);
    return new LoginLinkShop(application, await userClass(root), root, await captureMail(application), async () => {
      await end();
      await remove();
    });
  }

  /** Removes all users and attempts, and creates a user. */
  async addAda({
    password = null,
    isVerified = true,
  }: {
    readonly password?: string | null;
    readonly isVerified?: boolean;
  } = {}): Promise<FullUser> {
    await resetDatabase(this.application);
    await this.mail.clear();
    return this.addUser("Ada", EMAIL, password, isVerified);
  }

  async addUser(name: string, email: string, password: string | null = null, isVerified = true): Promise<FullUser> {
    const user = new this.User().fill({ name, email });
    if (password !== null) await user.setPassword(password);
    await user.save();
    if (isVerified) await user.markEmailAsVerified();
    return user;
  }

  visitor(address?: string): TestClient {
    return createTestClient(this.application, address === undefined ? {} : { address });
  }

  /** Asks for a mail on the page, and returns the response and what was mailed. */
  async ask(client: TestClient, email: string = EMAIL, fields = {}): Promise<MailedLogin> {
    await this.mail.clear();
    const page = (await client.get("/login/mail")).assertStatus(200);
    const answer = await client.submit(page, '[action="/login/mail"]', { email, ...fields });
    answer.assertRedirect("/login/mail/code");
    await this.application.background.settled();
    return mailedLogin(await this.mail.assertSent(({ to }) => to === email));
  }

  /** Enters a code on the page. */
  async enter(client: TestClient, code: string): Promise<TestResponse> {
    return client.submit(await client.get("/login/mail/code"), { mailed_code: code });
  }

  /** Follows a link, and presses the button on its page, with a code if the page asks for one. */
  async follow(client: TestClient, link: string, code?: string): Promise<TestResponse> {
    const page = (await client.get(link)).assertStatus(200);
    return client.submit(page, code === undefined ? {} : { mailed_code: code });
  }

  /** The rows of a table. */
  async rows(table: string): Promise<readonly Row[]> {
    return await this.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
  }
}

/** The code and the link in a mail. */
export function mailedLogin(mail: CapturedMail): MailedLogin {
  const [code = ""] = /^[A-Z]{4}-[A-Z]{4}$/m.exec(mail.text) ?? [];
  const [url] = linksIn(mail).filter((link) => link.includes("/login/mail/link/"));
  return { mail, code, link: url === undefined ? "" : new URL(url).pathname };
}
