import { describe, expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../../test/support/temporary-folder.ts";
import {
  type Application,
  createApplication,
  declareFeature,
  type Feature,
  Provider,
  type ProviderClass,
} from "../../../boot/index.ts";
import { Mailable, type MailContent, MailProvider } from "../../../mail/index.ts";
import { generateSecret } from "../../../security/index.ts";
import { ViewProvider } from "../../../views/index.ts";
import { AuthProvider } from "../../auth-provider.ts";
import type { AccountMailables } from "./account-mailables.ts";

declare module "./account-mailables.ts" {
  interface AccountMailMap {
    welcome: AccountMailData;
  }
}

class WelcomeMail extends Mailable {
  override subject(): string {
    return "Welcome";
  }

  override content(): MailContent {
    return { text: "welcome" };
  }
}

class Welcome extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "welcome",
    accountMails: { welcome: WelcomeMail },
  });
}

function declaring(accountMails: AccountMailables): ProviderClass {
  return class extends Provider {
    static override readonly feature: Feature = declareFeature({ name: "greetings", accountMails });
  };
}

async function boot(providers: readonly ProviderClass[], mailables: object = {}): Promise<Application> {
  const application = await createApplication({ providers, config: { auth: { ACCOUNTS: { mailables } } } });
  onTestFinished(() => application.shutdown());
  return application;
}

test("a declared mail with a preview is shown in development", async () => {
  class Greeting extends WelcomeMail {
    static preview(): Greeting {
      return new Greeting();
    }
  }
  const root = folderWith({ "views/welcome.edge": "Welcome, {{ app.name }}" });
  const application = await createApplication({
    root,
    providers: [declaring({ welcome: Greeting }), ViewProvider, MailProvider],
    environment: { APP_ENV: "development", APP_KEY: generateSecret() },
    config: { app: { APP: { name: "Shop", log: { level: "silent" } } } },
  });
  onTestFinished(() => application.shutdown());
  const show = async (path: string): Promise<string> =>
    (await application.fetch(new Request(`http://localhost:3000/dev/mailbox/preview${path}`))).text();
  expect(await show("")).toContain('<a href="/dev/mailbox/preview/Greeting">Greeting</a>');
  expect(await show("/Greeting/text")).toBe("Welcome, Shop");
});

describe("the names in ACCOUNTS.mailables", () => {
  test("are the framework's and the features', regardless of their order in PROVIDERS", async () => {
    const mailables = { welcome: WelcomeMail, verifyEmail: WelcomeMail, newDevice: null };
    await boot([AuthProvider, Welcome], mailables);
    await boot([Welcome, AuthProvider], mailables);
  });

  test.each([
    [[AuthProvider], { verifyMail: WelcomeMail }, 'verifyMail: is not a known setting. Did you mean "verifyEmail"?'],
    [[AuthProvider], { welcome: WelcomeMail }, "welcome: is not a known setting."],
    [[AuthProvider, Welcome], { welcom: 5 }, 'welcom: is not a known setting. Did you mean "welcome"?'],
    [
      [AuthProvider, Welcome],
      { welcome: 5 },
      "welcome: is a number. Write a class that extends Mailable, or leave it out.",
    ],
  ])("make startup fail if a name or its value is invalid: %#", async (providers, mailables, problem) => {
    await expect(boot(providers, mailables)).rejects.toThrow(`config/auth.ts: ACCOUNTS.mailables.${problem}`);
  });
});

describe("a feature cannot declare", () => {
  test("a name twice", async () => {
    await expect(boot([AuthProvider, Welcome, declaring({ welcome: WelcomeMail })])).rejects.toThrow(
      'greetings: the mail "welcome" is already declared by Welcome. Give one of them another name.',
    );
  });

  test("a name of the framework", async () => {
    await expect(boot([AuthProvider, declaring({ verifyEmail: WelcomeMail })])).rejects.toThrow(
      /: the mail "verifyEmail" is already declared by AuthProvider\. Give one of them another name\./,
    );
  });

  test.each([undefined, () => null, "welcome"])("%j as a mail class", async (mailable) => {
    await expect(boot([AuthProvider, declaring({ welcome: mailable as never })])).rejects.toThrow(
      /: the mail "welcome" has no class\. Write welcome: OwnMail, with a class that extends Mailable\./,
    );
  });
});
