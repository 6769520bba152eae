// An application whose configuration is the page's: where its links and forms lead, under each of its addresses.

import { expect, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

const PAGE = "docs/guides/public-addresses.md";

test("a visitor who registers gets a link to the requested host if it is on APP_URL's site", async () => {
  const root = await generatedApplication();
  await followPage(root, PAGE);
  const { application, end } = await bootApplication(root, { environment: { APP_URL: "https://shop.example" } });
  const mailer = application.container.make("mail");
  const password = "a password of hers";
  const hosts = ["acme.shop.example", "acme.example", "a.b.shop.example", "evil.example"];
  for (const [index, host] of hosts.entries()) {
    const client = createTestClient(application, { origin: `https://${host}` });
    const email = `ada${index}@example.com`;
    const form = { name: "Ada", email, password, password_confirmation: password };
    (await client.submit(await client.get("/register"), form)).assertRedirect();
    await mailer.settled();
    const [mail] = mailer.captured.filter(({ to }) => to.includes(email));
    const [link = ""] = /https:\S+/.exec(mail!.text) ?? [];
    const own = index === 0 ? host : "shop.example";
    expect(link).toMatch(`https://${own}/`);
  }
  await end();
});
