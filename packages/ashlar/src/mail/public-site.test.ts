import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { createApplication, createLogger } from "../boot/index.ts";
import { generateSecret } from "../security/index.ts";
import { ViewProvider } from "../views/index.ts";
import { MailProvider } from "./mail-provider.ts";

/** The warnings that an application with mail logs at boot. */
async function warnings(APP_URL: string, MAIL: object = {}, APP_ENV = "development"): Promise<string[]> {
  const logged: string[] = [];
  const settings = { name: "Shop", environment: "production", log: { level: "warn", requests: false } } as const;
  const application = await createApplication({
    root: await folderWith({}),
    providers: [ViewProvider, MailProvider],
    environment: { APP_ENV, APP_URL, APP_KEY: generateSecret() },
    config: { mail: { MAIL } },
    routes: [],
    logger: createLogger(settings, { write: (line: string) => void logged.push(JSON.parse(line).msg) }),
  });
  onTestFinished(() => application.shutdown());
  return logged;
}

test("in development, an application with the address of a public site warns that its mails are not sent", async () => {
  for (const url of ["https://shop.example", "https://shop.example:8443"]) {
    expect(await warnings(url)).toEqual([
      `Mails are not sent but kept or printed, because the application runs in development, although APP_URL is ${url}. On a server, write APP_ENV=production into .env: commands read it there, and not from the unit of a service.`,
    ]);
  }
});

test.each([
  ...[
    "",
    "http://shop.example",
    "https://localhost:3000",
    "https://127.0.0.1",
    "https://[::1]",
    "https://shop.localhost",
  ],
  ...["https://shop", "https://10.0.0.7", "https://[fd00::7]", "https://shop.test", "https://laptop.local"],
])("in development, the address %j means nothing", async (url) => {
  expect(await warnings(url)).toEqual([]);
});

test("an application that sends its mails, or is tested, has nothing to warn about", async () => {
  const MAIL = { transport: "smtp", from: { address: "shop@shop.example" }, smtp: { host: "127.0.0.1" } };
  expect(await warnings("https://shop.example", MAIL)).toEqual([]);
  expect(await warnings("https://shop.example", MAIL, "production")).toEqual([]);
  expect(await warnings("https://shop.example", {}, "test")).toEqual([]);
});
