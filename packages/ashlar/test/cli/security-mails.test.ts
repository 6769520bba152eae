import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { BUILT_IN_MAILS } from "../../src/auth/accounts/mails/built-in-mails.ts";
import type { Mailable } from "../../src/mail/index.ts";
import { AccountShop, EMAIL } from "../support/account-shop.ts";
import { ashlar } from "../support/command-line.ts";
import { edit } from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";
import { sqlite } from "../support/services.ts";

const newPasswordUrl = "https://shop.example/change_password";
const AT = new Date(0);

let shop: AccountShop;
beforeAll(async () => {
  shop = await AccountShop.open(sqlite, {
    change: async (root) => {
      await installPersonalTokens(root);
      await ashlar(root, "api:install", "--many");
      await edit(root, "config/app.ts", ["export const APP = {", 'export const APP = {\n  languages: ["de"],']);
    },
  });
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());

type Made = Mailable & { inLanguage(language: string): Mailable };
type Mails = Record<"guessesUsedUp" | "tokenReused" | "tokenCreated", new (data: object) => Made>;

/** The mails of the application's configuration. */
async function ownMails(): Promise<Mails> {
  const { ACCOUNTS } = (await import(join(shop.application.root, "config/auth.ts"))) as {
    ACCOUNTS: { mailables: Mails };
  };
  return ACCOUNTS.mailables;
}

async function sent(mail: Mailable) {
  await shop.mail.clear();
  await shop.application.container.make("mail").send(mail, EMAIL);
  return (await shop.mail.all())[0]!;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
  "&#x27;": "'",
};
const words = (text: string) => text.replaceAll(/\s+/g, " ").trim();

const shared = { user: { id: 1, name: "Ada" }, email: EMAIL, newPasswordUrl };
const guesses = { ...shared, detectedAt: AT, url: "https://shop.example/allow?a=1&b=2", expiresInHours: 24 };
const reused = { ...shared, name: "Pixel <9>", detectedAt: AT };
const created = { ...shared, name: "Backup & more", createdAt: AT, expiresAt: new Date(86_400_000) };

test.each([
  ["guessesUsedUp", guesses],
  ["guessesUsedUp", { ...guesses, url: null, newPasswordUrl: null }],
  ["tokenReused", reused],
  ["tokenReused", { ...reused, newPasswordUrl: null }],
  ["tokenCreated", created],
  ["tokenCreated", { ...created, expiresAt: null, newPasswordUrl: null }],
] as const)("the generated mail %s has the same text as the framework's own, in the layout: %j", async (name, data) => {
  const own = (await ownMails())[name];
  const BuiltIn = (BUILT_IN_MAILS as Mails)[name];
  for (const language of ["en", "de"]) {
    const plain = await sent(new BuiltIn(data).inLanguage(language));
    const mail = await sent(new own(data).inLanguage(language));
    expect([mail.subject, mail.text.trim()]).toEqual([plain.subject, `${plain.text.trim()}\n\nShop`]);
    expect(mail.html).toContain(`<h1>${plain.subject}</h1>`);
    expect(mail.html).toContain(`lang="${language}"`);
    const shown = words(mail.html!.replaceAll(/<[^>]+>/g, " ").replaceAll(/&#?\w+;/g, (entity) => ENTITIES[entity]!));
    for (const paragraph of plain.text.split("\n\n")) {
      if (paragraph === newPasswordUrl) expect(mail.html).toContain(`href="${newPasswordUrl}"`);
      else expect(shown).toContain(words(paragraph));
    }
  }
});

test("the development mailbox has a preview of each", async () => {
  const folder = join(shop.application.root, "app/mailables");
  const names = await readdir(folder);
  for (const name of ["guesses-used-up-mail.ts", "token-created-mail.ts", "token-reused-mail.ts"]) {
    expect(names).toContain(name);
    const module = (await import(join(folder, name))) as Record<string, { preview(): Mailable }>;
    const [Class] = Object.values(module);
    const mail = await sent(Class!.preview());
    expect(mail.html).toContain(mail.subject);
  }
});
