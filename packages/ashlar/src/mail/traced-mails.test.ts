import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { createApplication } from "../boot/index.ts";
import { type TracedMail, traceChannels } from "../support/index.ts";
import { ViewProvider } from "../views/index.ts";
import { Mailable, type MailContent, MailProvider, memoryTransport } from "./index.ts";

class Note extends Mailable {
  override subject(): string {
    return "a secret subject";
  }

  override content(): MailContent {
    return { text: "note" };
  }
}

test("S83 each mail delivery is traced, without its content and its addresses", async () => {
  const application = await createApplication({
    root: await folderWith({ "views/note.edge": "Hello" }),
    environment: { APP_ENV: "test" },
    providers: [ViewProvider, MailProvider],
    config: { mail: { MAIL: { from: { address: "shop@shop.example" }, transport: memoryTransport() } } },
  });
  onTestFinished(() => application.shutdown());
  const seen: unknown[] = [];
  const note = (message: unknown): void => void seen.push({ ...(message as TracedMail) });
  traceChannels.mail.start.subscribe(note);
  traceChannels.mail.asyncEnd.subscribe(note);
  onTestFinished(() => {
    traceChannels.mail.start.unsubscribe(note);
    traceChannels.mail.asyncEnd.unsubscribe(note);
  });
  await application.container.make("mail").send(new Note(), ["ada@example.com", "bob@example.com"]);
  const message = { mailable: "Note", recipients: 2 };
  expect(seen).toEqual([message, { ...message, isAsync: true }]);
});
