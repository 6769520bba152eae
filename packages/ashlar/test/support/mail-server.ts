import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { onTestFinished } from "vitest";

/** A mail received by SMTP. */
export interface ReceivedMail {
  readonly to: string;
  readonly subject: string;
  readonly source: string;
}

/** A real SMTP server on this machine, which keeps the mails it receives. */
export class MailServer {
  readonly port: number;
  readonly mails: ReceivedMail[] = [];
  /** The passwords that it accepts; while the list is empty, it doesn't ask for one. */
  readonly passwords: Set<string> = new Set();
  /** How often it has refused a wrong or missing password. */
  refused = 0;

  constructor(port: number) {
    this.port = port;
  }

  /** Waits for the next mail to an address with a matching subject. Each mail is returned once. */
  async next(to: string, subject: RegExp, seconds = 60): Promise<ReceivedMail> {
    const end = Date.now() + seconds * 1000;
    while (Date.now() < end) {
      const index = this.mails.findIndex((mail) => mail.to === to && subject.test(mail.subject));
      if (index >= 0) return this.mails.splice(index, 1)[0]!;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    const there = this.mails.map((mail) => `${mail.to}: ${mail.subject}`).join(", ") || "none";
    throw new Error(`No mail to ${to} about ${subject} within ${seconds} s. There: ${there}.`);
  }
}

/** Starts a mail server on a free port; it is stopped when the test has finished. */
export async function startMailServer(): Promise<MailServer> {
  const { mail, close } = await openMailServer();
  onTestFinished(close);
  return mail;
}

/**
 * Starts a mail server like {@link startMailServer}, for several tests, which have to close it.
 *
 * @param port default: a free one
 */
export async function openMailServer(
  port = 0,
): Promise<{ readonly mail: MailServer; readonly close: () => Promise<void> }> {
  let received: MailServer | null = null;
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    onAuth({ password }, _session, done) {
      if (received!.passwords.size === 0 || received!.passwords.has(password ?? ""))
        return done(null, { user: "shop" });
      received!.refused++;
      done(Object.assign(new Error("Wrong password"), { responseCode: 535 }));
    },
    onMailFrom(_address, { user }, done) {
      if (received!.passwords.size === 0 || user !== undefined) return done();
      received!.refused++;
      done(Object.assign(new Error("Authentication required"), { responseCode: 530 }));
    },
    disabledCommands: ["STARTTLS"],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const source = Buffer.concat(chunks).toString("utf8");
        const subject = /^Subject: (.*(?:\r\n\s.*)*)/m.exec(source)?.[1] ?? "";
        for (const { address } of session.envelope.rcptTo) received?.mails.push({ to: address, subject, source });
        done();
      });
    },
  });
  // A client was killed while it was sending.
  server.on("error", () => {});
  server.listen(port, "127.0.0.1");
  await once(server.server, "listening");
  received = new MailServer((server.server.address() as AddressInfo).port);
  return { mail: received, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** The first link in a mail's text part, with quoted-printable line breaks undone. */
export function linkIn({ source }: ReceivedMail): string {
  const text = source
    .replaceAll(/=\r\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const link = /https?:\/\/\S+/.exec(text)?.[0];
  if (link === undefined) throw new Error(`There is no link in the mail:\n${source}`);
  return link;
}
