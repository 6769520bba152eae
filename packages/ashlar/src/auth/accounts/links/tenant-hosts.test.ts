import { expect, test } from "vitest";
import {
  ADA,
  FullUser,
  linkIn,
  type TestAccounts,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { Mailable, type MailContent } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { generateSecret } from "../../../security/index.ts";

const TENANT = "https://acme.shop.example";
const APP_HOSTS = "*.shop.example, acme.example";

/** Where the links in mails lead after a request for a new password at a host. */
async function linksAfterRequest(
  accounts: TestAccounts,
  origin: string,
  headers = {},
): Promise<(string | undefined)[]> {
  await accounts.visitor({ origin }).post("/change_password", { email: ADA.email }, headers);
  return (await accounts.mails()).map((mail) => new URL(linkIn(mail)).origin);
}

test("S186 a link to an account leads to the host of APP.hosts that was requested, with the scheme and port of APP_URL, if it belongs to the same site", async () => {
  const accounts = await testAccounts({ environment: { APP_HOSTS } });
  expect(await linksAfterRequest(accounts, TENANT)).toEqual([TENANT]);
  expect(await linksAfterRequest(accounts, "https://acme.example")).toEqual(["https://shop.example"]);
  expect(await linksAfterRequest(accounts, "https://ACME.shop.example:9999")).toEqual([TENANT]);
  expect(await linksAfterRequest(accounts, "http://acme.shop.example")).toEqual([TENANT]);
});

test.each([
  "https://shop.example",
  "https://evil.example",
  "https://acme.shop.example.evil.example",
  "https://a.b.shop.example",
  "https://other.acme.example",
  "https://127.0.0.1",
])("S186 S40 a mail that a request to %s causes leads to APP_URL", async (origin) => {
  const accounts = await testAccounts({ environment: { APP_HOSTS } });
  expect(await linksAfterRequest(accounts, origin)).toEqual(["https://shop.example"]);
});

test("S186 a forwarded host counts only behind a trusted proxy, and only if it is listed", async () => {
  const forwarded = { "x-forwarded-host": "acme.shop.example" };
  const alone = await testAccounts({ environment: { APP_HOSTS } });
  expect(await linksAfterRequest(alone, "https://shop.example", forwarded)).toEqual(["https://shop.example"]);
  const behind = await testAccounts({ environment: { APP_HOSTS, TRUSTED_PROXIES: "203.0.113.7" } });
  expect(await linksAfterRequest(behind, "https://shop.example", forwarded)).toEqual([TENANT]);
  const evil = { "x-forwarded-host": "evil.example" };
  expect(await linksAfterRequest(behind, "https://shop.example", evil)).toEqual(["https://shop.example"]);
});

test("S186 a function confirms a host, once per request", async () => {
  const asked: string[] = [];
  const hosts = async (host: string): Promise<boolean> => {
    asked.push(host);
    return host === "acme.shop.example";
  };
  const accounts = await testAccounts({ config: { app: { APP: { hosts } } } });
  expect(await linksAfterRequest(accounts, TENANT)).toEqual([TENANT]);
  expect(await linksAfterRequest(accounts, "https://other.shop.example")).toEqual(["https://shop.example"]);
  expect(await linksAfterRequest(accounts, "https://shop.example")).toEqual(["https://shop.example"]);
  expect(asked).toEqual(["acme.shop.example", "other.shop.example"]);
});

test("a host that can't be looked up is an error of that request only", async () => {
  const hosts = (): never => {
    throw new Error("The database is gone.");
  };
  const accounts = await testAccounts({ config: { app: { APP: { hosts } } } });
  expect((await accounts.visitor({ origin: "https://acme.example" }).get("/login")).status).toBe(500);
  expect((await accounts.visitor().get("/login")).status).toBe(200);
});

test("S186 mails from concurrent requests to several hosts each link to their own host, in memory and in the outbox", async () => {
  class Note extends Mailable {
    override subject(): string {
      return "A note";
    }
    override content(): MailContent {
      return { plainText: `${this.route("note")} ${this.url("/notes")}` };
    }
  }
  for (const enabled of [true, false]) {
    const accounts = await testAccounts({
      config: { mail: { MAIL: { outbox: { enabled } } } },
      environment: { APP_HOSTS },
      routes: [
        Route.get("/note", async ({ mail, request }) => {
          await new Promise((resolve) => setImmediate(resolve));
          await mail.queue(new Note(), `${request.getSubdomain() ?? "www"}@example.com`);
          return request.url();
        }).name("note"),
      ],
    });
    const names = ["a", "b", "c", "www"];
    const origins = names.map((name) => (name === "www" ? "https://shop.example" : `https://${name}.shop.example`));
    const pages = await Promise.all(origins.map((origin) => accounts.visitor({ origin }).get("/note")));
    expect(pages.map(({ body }) => body)).toEqual(origins.map((origin) => `${origin}/note`));
    const mails = await accounts.mails();
    expect(mails.map(({ to, text }) => `${to} ${text}`).toSorted()).toEqual(
      names.map((name, index) => `${name}@example.com ${origins[index]}/note ${origins[index]}/notes`),
    );
  }
});

test.each([
  [TENANT, TENANT],
  ["https://evil.example", "https://shop.example"],
])("S186 work that one process promised at %s and another one does links to %s", async (requested, expected) => {
  class User extends FullUser {}
  const config = { app: { APP: { hosts: () => true } } };
  const environment = { APP_KEY: generateSecret() };
  const accounts = await testAccounts({ User, config, environment });
  const { background, container } = accounts.application;
  const { runUnpredictably } = background;
  background.runUnpredictably = () => {};
  await accounts.visitor({ origin: requested }).post("/change_password", { email: ADA.email });
  background.runUnpredictably = runUnpredictably;
  const claimed = { available_at: 0, claim: "a dead process" };
  await container.make("database").kysely.updateTable("mail_outbox").set(claimed).execute();
  const other = await testAccounts({ restarted: accounts, User, config, environment });
  (await other.application.container.make("mail").outbox())!.start();
  expect((await other.mails()).map((mail) => new URL(linkIn(mail)).origin)).toEqual([expected]);
});

test("S186 a request inside a request has the host that it was sent to, and the outer one keeps its own", async () => {
  const accounts = await testAccounts({
    environment: { APP_HOSTS },
    routes: [
      Route.get("/inner", () => accounts.application.url),
      Route.get("/outer", async () => {
        const before = accounts.application.url;
        const inner = await accounts.application.fetch(new Request("https://b.shop.example/inner"));
        const own = await accounts.application.fetch(new Request("https://shop.example/inner"));
        return [before, await inner.text(), await own.text(), accounts.application.url];
      }),
    ],
  });
  const { body } = await accounts.visitor({ origin: "https://a.shop.example" }).get("/outer");
  const [a, b] = ["https://a.shop.example", "https://b.shop.example"];
  expect(body).toEqual([a, b, "https://shop.example", a]);
  expect(accounts.application.url).toBe("https://shop.example");
});
