import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { describe, expect, test } from "vitest";
import { createApplication } from "../../boot/index.ts";
import {
  type Delivery,
  DeliveryError,
  type MailMessage,
  type MailTransport,
  type MailTransportSource,
  memoryTransport,
  smtp,
} from "../../mail/index.ts";
import { Mailbox } from "../../mail/mailbox/mailbox.ts";
import { MemoryTransport } from "../../mail/transports/memory-transport.ts";
import { type ArrivedMail, mailTransportSuite, type TransportUnderTest } from "./mail-transport-suite.ts";

const text = (content: string | Uint8Array): string => Buffer.from(content).toString();

function arrivedAs(message: MailMessage): ArrivedMail {
  const { id, subject, html, attachments } = message;
  return {
    id,
    from: message.from.address,
    replyTo: message.replyTo.map(({ address }) => address),
    recipients: [...message.to, ...message.cc, ...message.bcc].map(({ address }) => address),
    subject,
    text: message.text,
    html,
    attachments: Object.fromEntries(attachments.map(({ filename, content }) => [filename, text(content)])),
  };
}

const { container } = await createApplication({ environment: { APP_ENV: "test" } });
const made = (source: MailTransportSource): MailTransport =>
  typeof source === "function" ? source(container) : source;

/** A server that receives mails by SMTP, and parses them like a mail client. */
async function smtpServer(): Promise<TransportUnderTest> {
  const mails: ArrivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const mail = await PostalMime.parse(Buffer.concat(chunks), { attachmentEncoding: "arraybuffer" });
        const files = mail.attachments.map(({ filename, content }) => [
          filename,
          text(new Uint8Array(content as never)),
        ]);
        mails.push({
          id: mail.messageId?.replace(/^<(.*)>$/, "$1") ?? "",
          from: mail.from?.address ?? "",
          replyTo: (mail.replyTo ?? []).map(({ address }) => address ?? ""),
          recipients: envelope.rcptTo.map(({ address }) => address),
          subject: mail.subject ?? "",
          text: mail.text ?? "",
          html: mail.html ?? null,
          attachments: Object.fromEntries(files) as Record<string, string>,
        });
        done();
      });
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  return {
    transport: made(smtp({ host: "127.0.0.1", port })),
    arrived: () => mails,
    end: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

/** A custom transport for a service that accepts mails by HTTP. */
class Postbox implements MailTransport {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async deliver(message: MailMessage, { signal }: Delivery): Promise<void> {
    const attachments = message.attachments.map((file) => ({ ...file, content: text(file.content) }));
    const body = JSON.stringify({ ...message, attachments });
    const response = await fetch(this.#url, { method: "POST", body, signal });
    if (response.ok) return;
    const permanent = response.status >= 400 && response.status < 500 && response.status !== 429;
    throw new DeliveryError(`The service returned ${response.status}.`, { permanent });
  }

  close(): void {}
}

async function postboxService(): Promise<TransportUnderTest> {
  const mails: ArrivedMail[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    mails.push(arrivedAs(JSON.parse(body) as MailMessage));
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    transport: new Postbox(`http://127.0.0.1:${port}/`),
    arrived: () => mails,
    end: () => void server.close(),
  };
}

function memory(): TransportUnderTest {
  const transport = made(memoryTransport()) as MemoryTransport;
  const split = (line: string): string[] => (line === "" ? [] : line.split(", "));
  return {
    transport,
    arrived: () =>
      transport.captured.map(({ to, cc, bcc, attachments, ...mail }) => ({
        ...mail,
        id: null,
        replyTo: null,
        recipients: [to, cc, bcc].flatMap(split),
        attachments: Object.fromEntries(attachments.map(({ filename, content }) => [filename, text(content)])),
      })),
  };
}

function mailboxOfDevelopment(): TransportUnderTest {
  const mailbox = new Mailbox(container.make("logger"));
  return { transport: mailbox, arrived: () => mailbox.mails.map(({ message }) => arrivedAs(message)) };
}

/** No server listens on port 1. */
const unreachable = {
  smtp: { unreachable: () => made(smtp({ host: "127.0.0.1", port: 1 })) },
  http: { unreachable: () => new Postbox("http://127.0.0.1:1/") },
};

describe.each([
  ["smtp()", mailTransportSuite(smtpServer, unreachable.smtp)],
  ["an application's own, by HTTP", mailTransportSuite(postboxService, unreachable.http)],
  ["memoryTransport()", mailTransportSuite(memory)],
  ["mailbox()", mailTransportSuite(mailboxOfDevelopment)],
])("the transport %s", (_, suite) => {
  for (const { title, run } of suite) test(title, run);
});

const [ARRIVES, EVERYONE, SENDER, CONTENT, AT_ONCE, AGAIN, CHECK, LOST, UNCHECKED] = mailTransportSuite(memory, {
  unreachable: () => new MemoryTransport(),
}).map(({ title }) => title) as [string, string, string, string, string, string, string, string, string];

/** A transport that changes the mails with a function before it delivers them. */
function keeping(
  keep: (message: MailMessage, mails: ArrivedMail[]) => readonly string[] | Promise<readonly string[]>,
): () => TransportUnderTest {
  return () => {
    const mails: ArrivedMail[] = [];
    return {
      transport: { deliver: async (message) => keep(message, mails), close: () => {} },
      arrived: () => mails,
    };
  };
}

const changed = (change: (mail: ArrivedMail) => Partial<ArrivedMail>) =>
  keeping((message, mails) => {
    const mail = arrivedAs(message);
    mails.push({ ...mail, ...change(mail) });
    return [];
  });

/** A transport that keeps the current mail in shared state, where the last one wins. */
const mixing = (mix: (last: ArrivedMail) => Partial<ArrivedMail>) => {
  const last = new Map<ArrivedMail[], MailMessage>();
  return keeping(async (message, mails) => {
    last.set(mails, message);
    await new Promise((resolve) => setImmediate(resolve));
    mails.push({ ...arrivedAs(message), ...mix(arrivedAs(last.get(mails)!)) });
    return [];
  });
};

test.each([
  ["drops them", keeping(() => []), [ARRIVES, EVERYONE, SENDER, CONTENT, AT_ONCE, AGAIN]],
  [
    "reports a refused recipient who was not refused",
    keeping((message, mails) => {
      mails.push(arrivedAs(message));
      return ["ada@example.com"];
    }),
    [ARRIVES],
  ],
  [
    "resolves before the mails have arrived",
    keeping((message, mails) => {
      setImmediate(() => mails.push(arrivedAs(message)));
      return [];
    }),
    [ARRIVES, EVERYONE, SENDER, CONTENT, AT_ONCE, AGAIN],
  ],
  [
    "delivers each mail twice",
    keeping((message, mails) => {
      mails.push(arrivedAs(message), arrivedAs(message));
      return [];
    }),
    [ARRIVES, EVERYONE, AT_ONCE],
  ],
  [
    "forgets blind copies",
    changed(({ recipients }) => ({ recipients: recipients.filter((one) => !one.startsWith("bcc")) })),
    [EVERYONE],
  ],
  [
    "forgets copies",
    changed(({ recipients }) => ({ recipients: recipients.filter((one) => !one.startsWith("cc")) })),
    [EVERYONE],
  ],
  [
    "delivers only to the first of several recipients",
    changed(({ recipients }) => ({ recipients: recipients.filter((one) => !one.startsWith("grace")) })),
    [EVERYONE],
  ],
  ["mixes up the texts of concurrent mails", mixing(({ text }) => ({ text })), [AT_ONCE]],
  ["mixes up the recipients of concurrent mails", mixing(({ recipients }) => ({ recipients })), [AT_ONCE]],
  ["only knows ASCII", changed((mail) => ({ text: mail.text.replaceAll(/[^\n -~]/g, "?") })), [CONTENT]],
  ["loses subjects", changed(() => ({ subject: "" })), [ARRIVES, CONTENT, AT_ONCE]],
  ["loses the HTML", changed(() => ({ html: null })), [CONTENT]],
  ["turns text into HTML", changed((mail) => ({ html: mail.text })), [ARRIVES, CONTENT]],
  ["sends as someone else", changed(() => ({ from: "relay@service.example" })), [SENDER]],
  ["drops the addresses for replies", changed(() => ({ replyTo: [] })), [SENDER]],
  ["gives each attempt a new id", changed(({ id }) => ({ id: `${id}.${Math.random()}` })), [AGAIN]],
  ["loses attachments", changed(() => ({ attachments: {} })), [CONTENT]],
  ["ends a mail at a line with a dot", changed((mail) => ({ text: mail.text.split("\n.\n")[0]! })), [CONTENT]],
])("the suite finds a transport that %s", async (_, make, titles) => {
  const outcomes = await Promise.all(
    mailTransportSuite(make).map(async ({ title, run }) => ({
      title,
      error: await run().catch((error: unknown) => error),
    })),
  );
  expect(outcomes.flatMap(({ title, error }) => (error === undefined ? [] : [title]))).toEqual(titles);
});

test.each([
  ["resolves", () => Promise.resolve(), /the mail would be lost/],
  ["gives up for good", () => Promise.reject(new DeliveryError("No.", { permanent: true })), /abandoned at once/],
  ["throws something other than an Error", () => Promise.reject("no"), /the error is an Error/],
])("the suite finds a transport that, with its service unavailable, %s", async (_, deliver, message) => {
  const suite = mailTransportSuite(memory, { unreachable: () => ({ deliver, close: () => {} }) });
  await expect(suite.find(({ title }) => title === LOST)!.run()).rejects.toThrow(message);
});

test("the suite finds a transport whose check delivers something, or doesn't notice that its service is unavailable", async () => {
  const made = (): TransportUnderTest => {
    const mails: ArrivedMail[] = [];
    const check = async (): Promise<void> => void mails.push({} as ArrivedMail);
    return { transport: { deliver: async () => {}, check, close: () => {} }, arrived: () => mails };
  };
  const unreachable = (): MailTransport => ({ deliver: async () => {}, check: async () => {}, close: () => {} });
  const suite = mailTransportSuite(made, { unreachable });
  for (const wanted of [CHECK, UNCHECKED]) {
    await expect(suite.find(({ title }) => title === wanted)!.run()).rejects.toThrow();
  }
});
