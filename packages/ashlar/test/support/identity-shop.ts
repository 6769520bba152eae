import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import { currentDate } from "../../src/support/index.ts";
import { createTestClient, resetDatabase, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { type BootOptions, bootApplication, userClass } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { generateApplication } from "./generated-application.ts";
import { CLIENT_ID, CLIENT_SECRET, IdentitySite } from "./identity-site.ts";

export const EMAIL = "ada@example.com";
export const PASSWORD = "a password of hers";

/** What the site says about its user. */
export const ADA: Readonly<Record<string, unknown>> = {
  sub: "ada-1",
  email: EMAIL,
  email_verified: true,
  name: "Ada Lovelace",
};

/** How an application differs from a generated one. */
export interface IdentityShopOptions extends Omit<BootOptions, "providers"> {
  /** More entries of `providers` in `config/identities.ts`, as text, with the sites' addresses. */
  readonly entries?: (site: IdentitySite, other: IdentitySite) => string;
  /** Further settings of the provider `acme`, as text: `registers: false`. */
  readonly settings?: string;
  /** Changes the generated files before the application boots. */
  readonly change?: (root: string) => Promise<void>;
}

/** A generated application with logins by other sites, installed as its author does, and two sites. */
export class IdentityShop {
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly root: string;
  /** The provider `acme`. */
  readonly site: IdentitySite;
  /** The provider `other`. */
  readonly other: IdentitySite;
  readonly end: () => Promise<void>;

  private constructor(
    { application, root, User }: Pick<IdentityShop, "application" | "root" | "User">,
    [site, other]: readonly [IdentitySite, IdentitySite],
    end: () => Promise<void>,
  ) {
    this.application = application;
    this.User = User;
    this.root = root;
    this.site = site;
    this.other = other;
    this.end = end;
  }

  static async install({
    entries,
    settings = "",
    change,
    ...options
  }: IdentityShopOptions = {}): Promise<IdentityShop> {
    const database = typeof options.engine === "object" ? options.engine.name : "sqlite";
    const { root, remove } = await generateApplication({ database: database as "sqlite" });
    await ashlar(root, "api:install");
    const { code, errors } = await ashlar(root, "auth", "--providers", "openid");
    expect([code, errors]).toEqual([0, ""]);
    const [site, other] = [await IdentitySite.start(), await IdentitySite.start()];
    const client = `clientId: ${JSON.stringify(CLIENT_ID)}, clientSecret: ${JSON.stringify(CLIENT_SECRET)}, isInternal: true`;
    const text = `
      import { apple, discord, facebook, github, gitlab, google, linkedin, microsoft, oauth2, openId } from "ashlar/identities";
      const own = { ${client} };
      export const IDENTITIES = {
        providers: {
          acme: openId({ issuer: ${JSON.stringify(site.issuer)}, label: "Acme", ...own, ${settings} }),
          other: openId({ issuer: ${JSON.stringify(other.issuer)}, label: "Other", ...own }),
          ${entries?.(site, other) ?? ""}
        },
      };`;
    await writeFile(join(root, "config/identities.ts"), text);
    await change?.(root);
    const { application, end } = await bootApplication(root, options);
    const User = await userClass(root);
    return new IdentityShop({ application, root, User }, [site, other], async () => {
      await end();
      await site.end();
      await other.end();
      await remove();
    });
  }

  /** Removes all users and attempts, makes the sites honest, and creates a user. */
  async addAda(isVerified = true): Promise<FullUser> {
    await this.clear();
    return this.addUser("Ada", EMAIL, isVerified);
  }

  async clear(): Promise<void> {
    await resetDatabase(this.application);
    this.site.reset();
    this.other.reset();
  }

  async addUser(name: string, email: string, isVerified = true): Promise<FullUser> {
    const user = new this.User().fill({ name, email });
    await user.setPassword(PASSWORD);
    if (isVerified) user.verified_at = currentDate();
    return await user.save();
  }

  visitor(address?: string): TestClient {
    return createTestClient(this.application, address === undefined ? {} : { address });
  }

  async loggedIn(email: string = EMAIL): Promise<TestClient> {
    const client = this.visitor();
    const page = await client.get("/login");
    (await client.submit(page, '[action="/login"]', { email, password: PASSWORD })).assertRedirect("/home");
    return client;
  }

  /** Presses the button of a provider on the login page. @returns where the visitor is sent */
  async leave(client: TestClient, provider = "acme"): Promise<string> {
    const page = await client.get("/login");
    return awayOf(await client.submit(page, `[action="/login/with/${provider}"]`));
  }

  /** Logs in at a provider, whose user it is. */
  async logIn(client: TestClient, claims: object = ADA, provider = "acme"): Promise<TestResponse> {
    const url = await this.leave(client, provider);
    const brought = (provider === "other" ? this.other : this.site).allow(url, { ...claims });
    return client.get(`/login/with/${provider}/callback?${brought}`);
  }

  /** The rows of a table. */
  async rows(table: string): Promise<readonly Row[]> {
    return await this.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
  }

  /** The accounts at other sites that are connected. */
  async identities(): Promise<readonly Row[]> {
    return await this.rows("identities");
  }
}

/** Where a response sends the visitor. */
export function awayOf(response: TestResponse): string {
  response.assertStatus(302);
  return response.headers.get("location") ?? "";
}
