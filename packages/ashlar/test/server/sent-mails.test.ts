import { queryObjects } from "node:v8";
import { expect, test } from "vitest";
import { createApplication } from "../../src/boot/index.ts";
import { Mailable, type MailContent, MailProvider } from "../../src/mail/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { folderWith } from "../support/temporary-folder.ts";

class Note extends Mailable {
  override subject(): string {
    return "A note";
  }

  override content(): MailContent {
    return { text: "note" };
  }
}

// In a separate file, because counting objects goes through everything that other tests in the process have left.
test("nothing from a sent mail is kept", async () => {
  const application = await createApplication({
    root: await folderWith({ "views/note.edge": "Hello" }),
    providers: [ViewProvider, MailProvider],
    environment: { APP_ENV: "development", APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
    config: {
      app: { APP: { name: "Shop", log: { level: "silent" } } },
      mail: { MAIL: { from: { address: "shop@shop.example" }, transport: { deliver: async () => {}, close() {} } } },
    },
  });
  const mailer = application.container.make("mail");
  const send = async (count: number): Promise<number> => {
    for (let sent = 0; sent < count; sent++) await mailer.send(new Note(), "ada@example.com");
    return queryObjects(Promise, { format: "count" });
  };
  const before = await send(10);
  expect((await send(500)) - before).toBeLessThan(250);
  await application.shutdown();
});
