import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import type { Model } from "../../../src/database/index.ts";
import type { Mailable } from "../../../src/mail/index.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { checkTypes, edit, execute, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { followSection } from "../../support/page-sections.ts";

const PAGE = "docs/guides/newsletters.md";
const WEBHOOKS = "docs/guides/webhooks.md";
const VERIFY_TOKEN = "app/middleware/verify-token.ts";

test("a mail service unsubscribes a reader with one click, which needs the signature", async () => {
  const root = await generatedApplication({ api: false });
  await followPage(root, PAGE);
  await followSection(root, PAGE, "One click");
  await edit(root, "app/kernel.ts", [
    'import { SessionMiddleware, VerifyCsrfToken } from "ashlar/session";',
    'import { SessionMiddleware } from "ashlar/session";\nimport { VerifyToken } from "./middleware/verify-token.ts";',
  ]);
  await edit(root, "app/kernel.ts", ["LoadUserMiddleware, VerifyCsrfToken]", "LoadUserMiddleware, VerifyToken]"]);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const { Reader } = (await import(pathToFileURL(join(root, "app/models/reader.ts")).href)) as {
      readonly Reader: typeof Model;
    };
    for (const email of ["ada@example.com", "bob@example.com"]) await Reader.create({ email });
    const count = async () => (await Reader.all()).length;
    const { NewsletterMail } = (await import(pathToFileURL(join(root, "app/mailables/newsletter-mail.ts")).href)) as {
      readonly NewsletterMail: new (readerId: number) => Mailable;
    };
    const mailer = application.container.make("mail");
    await mailer.queue(new NewsletterMail(1), "ada@example.com");
    await mailer.settled();
    const [sent] = mailer.captured;
    expect(sent!.headers).toEqual({
      "x-pm-tag": "newsletter",
      "list-unsubscribe": expect.stringMatching(/^<http\S+signature=\S+>$/),
      "list-unsubscribe-post": "List-Unsubscribe=One-Click",
    });
    const link = sent!.headers["list-unsubscribe"]!.slice(1, -1);
    const click = async (url: string) => {
      const body = new URLSearchParams(sent!.headers["list-unsubscribe-post"]);
      return (await application.fetch(new Request(url, { method: "POST", body }))).status;
    };
    const people = createTestClient(application);
    const page = (await people.get(link)).assertStatus(200).assertSee("Skip to content", "You won't get any more");
    expect(page.text).toContain('name="__token"');
    expect([await click(link.replace("/1/", "/2/")), await click(link.split("?")[0]!), await count()]).toEqual([
      403, 403, 2,
    ]);
    expect([await click(link), await click(link), await count()]).toEqual([200, 200, 1]);
    (await people.submit(page)).assertStatus(200).assertSee("Skip to content", "You have been unsubscribed.");

    // Signing up: the reader is stored by the link's button, once.
    const visitor = createTestClient(application);
    const form = (await visitor.get("/newsletter")).assertSee("Skip to content", "Sign up");
    const refused = await visitor.follow(await visitor.submit(form, '[action="/newsletter"]', { email: "no address" }));
    refused.assertSee("This is not an email address.");
    expect(refused.text).toContain('value="no address"');
    const sentForm = await visitor.submit(refused, '[action="/newsletter"]', { email: "cy@example.com" });
    (await visitor.follow(sentForm)).assertSee("We have sent you a link.");
    await mailer.settled();
    expect(await count()).toBe(1);
    const [confirm] = /http\S+signature=\S+/.exec(mailer.captured.at(-1)!.text)!;
    const asked = (await visitor.get(confirm)).assertSee("Skip to content", "until you unsubscribe");
    for (let round = 0; round < 2; round++) {
      (await visitor.submit(asked)).assertStatus(200).assertSee("Skip to content", "You will get the newsletter.");
      expect(await count()).toBe(2);
    }
    // The button's form has a token, so its route needs no exception.
    expect(await click(confirm)).toBe(419);
    (await visitor.get(confirm.replace("cy%40", "eve%40"))).assertStatus(403);
    expect(await count()).toBe(2);
  } finally {
    await end();
  }
}, 120_000);

test("the script queues a mail for each reader", async () => {
  const root = await generatedApplication({ api: false });
  await followPage(root, PAGE);
  await followSection(root, PAGE, "One click");
  await ashlar(root, "migrate");
  const add = `import application from "../app.ts"; import { Reader } from "../app/models/reader.ts";
    for (const email of ["ada@example.com", "bob@example.com"]) await Reader.create({ email }); await application.shutdown();`;
  await writeFile(join(root, "scripts/add.ts"), add);
  expect(await execute(root, process.execPath, ["scripts/add.ts"])).toMatchObject({ code: 0 });
  const sent = await execute(root, process.execPath, ["scripts/send-newsletter.ts"]);
  expect(sent).toMatchObject({ code: 0, output: expect.stringContaining("2 mails are queued.") });
}, 120_000);

test("an application that also follows the guide to webhooks has the routes and exceptions of both", async () => {
  const root = await generatedApplication({ api: false });
  for (const [page, section] of [
    [WEBHOOKS, "The routes"],
    [PAGE, "One click"],
  ] as const) {
    const before = await readFile(join(root, VERIFY_TOKEN), "utf8").catch(() => null);
    await followPage(root, page);
    await followSection(root, page, section);
    if (before === null) continue;
    // As the page says: the class is there already, and gets the name.
    await writeFile(join(root, VERIFY_TOKEN), before);
    await edit(root, VERIFY_TOKEN, ['"webhooks.mail"]', '"webhooks.mail", "newsletter.unsubscribe.store"]']);
  }
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const statuses = ["/webhooks/payments", "/newsletter/1/unsubscribe", "/logout"].map(async (path) => {
      const init = { method: "POST", headers: { accept: "application/json" } };
      const { status } = await application.fetch(new Request(`http://localhost${path}`, init));
      return status;
    });
    // Without the secret of its service, a webhook's signature can't be right; a login's form needs the token of its session.
    expect(await Promise.all(statuses)).toEqual([403, 403, 419]);
  } finally {
    await end();
  }
}, 120_000);
