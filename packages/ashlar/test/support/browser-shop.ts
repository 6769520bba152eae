import { COMMAND, edit, execute, freePort, generateApplication, startServing } from "./generated-application.ts";
import { type MailServer, openMailServer } from "./mail-server.ts";

/** A generated application that a browser visits. */
export interface BrowserShop {
  readonly url: string;
  readonly mail: MailServer;
  /** How its process ended, or `null` while it runs. */
  readonly end: () => string | null;
  close(): Promise<void>;
}

/**
 * Generates an application in English and German, and serves it. It sends its mails to a real mail server.
 *
 * @param complete adds what the test is about, before the migrations are run
 */
export async function openBrowserShop(complete: (root: string) => Promise<unknown>): Promise<BrowserShop> {
  const { root, remove } = await generateApplication();
  const { mail, close } = await openMailServer();
  await edit(root, "config/mail.ts", ["export const MAIL = {", 'export const MAIL = {\n  transport: "smtp",']);
  await edit(root, "config/app.ts", ["export const APP = {", 'export const APP = {\n  languages: ["de"],']);
  await complete(root);
  await execute(root, process.execPath, [COMMAND, "migrate"]);
  const port = String(await freePort());
  const url = `http://localhost:${port}`;
  const { child, end } = await startServing(root, {
    PORT: port,
    APP_URL: url,
    TRUSTED_PROXIES: "127.0.0.1, ::1",
    MAIL_FROM: "shop@example.com",
    SMTP_HOST: "127.0.0.1",
    SMTP_PORT: String(mail.port),
  });
  return {
    url,
    mail,
    end,
    async close() {
      child.kill("SIGKILL");
      await close();
      await remove();
    },
  };
}
