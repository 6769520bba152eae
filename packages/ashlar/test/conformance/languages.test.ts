import { globSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { ApiProvider } from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import { createApplication, type ProviderClass } from "../../src/boot/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { LoginLinksProvider } from "../../src/login-links/index.ts";
import { MailProvider } from "../../src/mail/index.ts";
import type { MessageKey, Sentence } from "../../src/messages/index.ts";
import { paramNames } from "../../src/messages/sentence.ts";
import { PasskeysProvider } from "../../src/passkeys/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { SessionProvider } from "../../src/session/index.ts";
import { ThrottleProvider } from "../../src/throttle/index.ts";
import { TwoFactorProvider } from "../../src/two-factor/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { UserWithToken } from "../support/application-parts.ts";

const PROVIDERS: readonly ProviderClass[] = [
  DatabaseProvider,
  EventProvider,
  ViewProvider,
  SessionProvider,
  ThrottleProvider,
  MailProvider,
  AuthProvider,
  ApiProvider,
  TwoFactorProvider,
  LoginLinksProvider,
  PasskeysProvider,
];

let english: ReadonlyMap<string, Sentence>;
let german: ReadonlyMap<string, Sentence>;

beforeAll(async () => {
  const { messages } = await createApplication({
    providers: PROVIDERS,
    environment: { APP_ENV: "test" },
    config: {
      app: { APP: { languages: ["de"] } },
      auth: { GUARDS: { default: "web", web: { model: UserWithToken }, jwt: { model: UserWithToken } } },
      api: { DRIVERS: { jwt: { secret: generateSecret(), model: UserWithToken } } },
      database: { DATABASES: { default: "main", main: { driver: "sqlite", path: ":memory:" } } },
      mail: { MAIL: { from: { address: "shop@example.com" } } },
    },
  });
  [english, german] = [messages.sentencesIn("en"), messages.sentencesIn("de")];
});

test("every message of the framework is declared", async () => {
  const source = join(import.meta.dirname, "../../src");
  const files = globSync("**/{messages,*-messages}.ts", { cwd: source });
  const keys: string[] = [];
  for (const file of files) {
    const exported = (await import(join(source, file))) as Record<string, unknown>;
    for (const [name, value] of Object.entries(exported)) if (/MESSAGES$/.test(name)) keys.push(...Object.keys(value!));
  }
  expect(files.length).toBeGreaterThanOrEqual(11);
  expect(keys.filter((key) => !english.has(key))).toEqual([]);
});

test("every message of the framework exists in German, and German has no others", () => {
  expect([...german.keys()].sort()).toEqual([...english.keys()].sort());
});

test("no sentence is empty", () => {
  const texts = [...english, ...german].flatMap(([key, sentence]) =>
    (typeof sentence === "string" ? [sentence] : Object.values(sentence)).map((text) => [key, text]),
  );
  expect(texts.filter(([, text]) => text === "")).toEqual([]);
});

test("a message has the same placeholders in German, and plural forms only if the English one does", () => {
  for (const [key, sentence] of german) {
    expect([key, [...paramNames(sentence)].sort()]).toEqual([key, [...paramNames(english.get(key)!)].sort()]);
    expect([key, typeof sentence]).toEqual([key, typeof english.get(key)]);
  }
});

test("the compiler reports messages that a language lacks", () => {
  // @ts-expect-error the sentences of the framework are missing
  const incomplete: Readonly<Record<MessageKey, Sentence>> = {};
  expect(incomplete).toEqual({});
});

test("German is typeset correctly, and addresses its reader formally", () => {
  for (const [key, sentence] of german) {
    for (const text of typeof sentence === "string" ? [sentence] : Object.values(sentence)) {
      expect([key, text]).not.toEqual([key, expect.stringMatching(/["']|\.\.\.|\b(?:du|dein|deine|dir|dich)\b/i)]);
    }
  }
});
