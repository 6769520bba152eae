import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { captureMail, createTestClient, linksIn, type TestClient } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { edit, generateApplication } from "../support/generated-application.ts";

const EMAIL = "grete@example.com";
const PASSWORD = "ein gutes passwort";
const LANGUAGE = "de-AT, en;q=0.5";

/** The language files that the README shows. */
async function samples(): Promise<[file: string, code: string][]> {
  const document = await readFile(join(import.meta.dirname, "../../../../README.md"), "utf8");
  const [, code = ""] = /^## Languages\n[\s\S]*?```ts\n([\s\S]*?)```/m.exec(document) ?? [];
  const files = [...code.matchAll(/^\/\/ (lang\/\w+\.ts)\n([\s\S]*?)(?=^\/\/ |$(?![\s\S]))/gm)];
  return files.map(([, file, text]) => [file!, text!]);
}

let application: Application;
let User: typeof FullUser;
let remove: () => Promise<void>;

beforeAll(async () => {
  const made = await generateApplication({});
  const { root } = made;
  await mkdir(join(root, "lang"));
  for (const [file, code] of await samples()) await writeFile(join(root, file), code);
  // A user whose setting is German, whatever the browser prefers.
  await edit(root, "app/models/user.ts", [
    "  declare id: number;",
    '  get language() {\n    return this.name === "Heidi" ? "de" : undefined;\n  }\n  declare id: number;',
  ]);
  User = await userClass(root);
  const booted = await bootApplication(root);
  ({ application } = booted);
  remove = async () => {
    await booted.end();
    await made.remove();
  };
});

afterAll(() => remove());

/** Sends a page's form, and returns the page that it leads to, in German. */
async function submit(client: TestClient, path: string, fields: Readonly<Record<string, string>>) {
  const answer = await client.submit(await client.get(path), fields);
  return client.follow(answer);
}

test("a browser that prefers German gets it throughout the life of an account", async () => {
  const mail = await captureMail(application);
  const client = createTestClient(application).withLanguage(LANGUAGE);
  (await client.get("/")).assertSee("Die Anwendung läuft. Diese Seite ist views/welcome.edge", "Das ist dabei");
  const form = await client.get("/register");
  expect(form.text).toContain('<html lang="de" dir="ltr">');
  expect(form.headers.get("content-language")).toBe("de");
  form.assertSee("E-Mail-Adresse", "Mindestens 8 Zeichen", "Schon registriert?");
  const typed = { name: "Grete", email: EMAIL, password: PASSWORD };
  const mistaken = await submit(client, "/register", { ...typed, email: "nirgends", password_confirmation: "anders" });
  mistaken.assertSee(
    "Es gibt ein Problem",
    "Das ist keine gültige E-Mail-Adresse.",
    "Die Passwörter stimmen nicht überein.",
  );
  const notice = await submit(client, "/register", { ...typed, password_confirmation: PASSWORD });
  notice.assertSee(`Wir haben einen Link an ${EMAIL} gesendet.`);

  const [verification] = await mail.all();
  expect(verification?.subject).toBe("Bestätigen Sie Ihre E-Mail-Adresse");
  expect(verification?.text).toContain("Dieser Link ist 24 Stunden gültig.");
  expect(verification?.html).toContain('<html lang="de" dir="ltr">');
  const verified = await client.follow(await client.get(linksIn(verification!)[0]!));
  verified.assertSee("Guten Tag, Grete", "Ihre E-Mail-Adresse ist bestätigt.");

  const other = createTestClient(application).withLanguage(LANGUAGE);
  const wrong = await submit(other, "/login", { email: EMAIL, password: "ein falsches passwort" });
  // With the sentences in lang/de.ts.
  wrong.assertSee("Das hat nicht geklappt: Adresse oder Passwort ist falsch.");

  await mail.clear();
  const asked = await submit(other, "/change_password", { email: EMAIL });
  asked.assertSee("Wenn es ein Konto mit dieser Adresse gibt, haben wir einen Link dorthin gesendet.");
  const [reset] = await mail.all();
  expect([reset?.subject, reset?.text]).toEqual([
    "Neues Passwort wählen",
    expect.stringContaining("Der Link kann einmal verwendet werden und ist 24 Stunden gültig."),
  ]);
  const link = linksIn(reset!)[0]!;
  const short = await submit(other, link, { password: "kurz", password_confirmation: "kurz" });
  short.assertSee("Das Passwort ist zu kurz. Verwenden Sie mindestens 8 Zeichen.");
  const chosen = { password: "ein anderes passwort", password_confirmation: "ein anderes passwort" };
  (await submit(other, link, chosen)).assertSee("Ihr Passwort wurde geändert. Melden Sie sich mit dem neuen an.");
  const home = await submit(other, "/login", { email: EMAIL, password: chosen.password });
  home.assertSee("Guten Tag, Grete", "Ihr Konto");
});

test("a form's problems are shown in the language of the page, and keep their rules", async () => {
  const client = createTestClient(application).withLanguage(LANGUAGE);
  const form = await client.get("/register");
  const typed = { name: "Grete", email: "nirgends", password: "kurz", password_confirmation: "anders" };
  const refused = await client.submit(form, typed);
  await refused.assertValidationErrors({
    email: { rule: "auth.email.invalid" },
    password: { rule: "password.tooShort", params: { min: 8 } },
    password_confirmation: "Die Passwörter stimmen nicht überein.",
  });
  const english = await client.withLanguage("en").follow(refused);
  english.assertSee("This is not a valid email address.", "Use at least 8 characters.", "The passwords do not match.");
});

test("the generated controllers send API clients the rule along with the message", async () => {
  const client = createTestClient(application).withLanguage(LANGUAGE).withCsrfToken();
  const answer = await client.postJson("/login", { email: "niemand@example.com", password: PASSWORD });
  answer.assertStatus(422).assertJsonPath("errors", {
    email: [
      { rule: "auth.login.failed", params: {}, message: "Das hat nicht geklappt: Adresse oder Passwort ist falsch." },
    ],
  });
});

test("a user's own language takes precedence over the browser's, in pages and in mails", async () => {
  const user = new User().fill({ name: "Heidi", email: "heidi@example.com" });
  await user.setPassword(PASSWORD);
  await user.save();
  const mail = await captureMail(application);
  await mail.clear();
  const client = createTestClient(application);
  (await client.get("/change_password")).assertSee("Forgot your password?");
  await client.submit(await client.get("/change_password"), { email: "heidi@example.com" });
  expect((await mail.all()).map(({ subject }) => subject)).toEqual(["Neues Passwort wählen"]);
  await client.submit(await client.get("/login"), { email: "heidi@example.com", password: PASSWORD });
  const home = await client.get("/home");
  home.assertSee("Guten Tag, Heidi");
  expect([home.headers.get("content-language"), home.headers.get("vary")]).not.toContain("accept-language");
});

test("the README's sample has plural forms in both languages", () => {
  const say = (language: string, count: number) =>
    application.messages.translator(language)("app.orders.count", { count });
  expect([say("en", 1), say("en", 2), say("de", 1), say("de", 1200)]).toEqual([
    "1 order",
    "2 orders",
    "1 Bestellung",
    "1.200 Bestellungen",
  ]);
});
