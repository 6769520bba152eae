import assert from "node:assert/strict";
import { type Delivery, Mailable, type MailMessage, type MailTransport } from "../../mail/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { SuiteTest } from "./suite-test.ts";

/** A mail as received from a transport. */
export interface ArrivedMail {
  /** The mail's `id`, without angle brackets; `null` if the recipient can't see it. */
  readonly id: string | null;
  /** The sender's address; `null` if the recipient can't see it. */
  readonly from: string | null;
  /** The addresses for replies; `null` if the recipient can't see them. */
  readonly replyTo: readonly string[] | null;
  /** The addresses that it was delivered to, in any order: those in `to`, `cc` and `bcc`. */
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** `null` if the mail is text only. */
  readonly html: string | null;
  /** The attachments' contents as text, by name. */
  readonly attachments: Readonly<Record<string, string>>;
}

/** A transport under test, and the mails that it has delivered. */
export interface TransportUnderTest {
  readonly transport: MailTransport;
  /** The mails that have arrived so far, in any order. */
  readonly arrived: () => MaybePromise<readonly ArrivedMail[]>;
  /** Stops the server that receives the mails; called after the transport has been closed. */
  readonly end?: () => MaybePromise<void>;
}

/** Options of {@link mailTransportSuite}. */
export interface MailTransportSuiteOptions {
  /** Creates a transport whose server cannot be reached; default: the tests that need one are skipped. */
  readonly unreachable?: () => MaybePromise<MailTransport>;
}

class Sample extends Mailable {
  override subject(): string {
    return "Your order";
  }

  override content(): never {
    throw new Error("A transport receives a composed message, and composes none itself.");
  }
}

const ADA = { address: "ada@example.com", name: "Ada Lovelace" };
const GRACE = { address: "grace@example.com", name: null };

let count = 0;

function message(own: Partial<MailMessage> = {}): MailMessage {
  return Object.freeze({
    id: `${++count}.suite@shop.example`,
    date: new Date("2026-11-01T12:00:00Z"),
    mailable: "Sample",
    from: { address: "shop@shop.example", name: "Shop" },
    to: [ADA],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: "Your order",
    text: "It is on its way.",
    html: null,
    attachments: [],
    ...own,
  });
}

function delivery(): Delivery {
  return { signal: new AbortController().signal, mailable: new Sample() };
}

/** Normalizes line endings and the last line break, which a transport may change. */
function lines(text: string): string {
  return text.replaceAll("\r\n", "\n").trimEnd();
}

/**
 * Tests the contract of {@link MailTransport}.
 *
 * @param make creates a transport that delivers to a server without mails, for example on this machine; called once for
 * each test, which closes it
 */
export function mailTransportSuite(
  make: () => MaybePromise<TransportUnderTest>,
  { unreachable }: MailTransportSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = (title: string, run: (made: TransportUnderTest) => Promise<void>): SuiteTest => ({
    title,
    async run() {
      const made = await make();
      try {
        await run(made);
      } finally {
        await made.transport.close();
        await made.end?.();
      }
    },
  });
  const always = [
    entry("a mail has arrived once its delivery resolves", async ({ transport, arrived }) => {
      const refused = await transport.deliver(message(), delivery());
      assert.deepEqual(refused ?? [], [], "no address was refused");
      const [mail, ...others] = await arrived();
      assert.ok(
        mail !== undefined && others.length === 0,
        `${others.length + (mail ? 1 : 0)} mails have arrived, not one`,
      );
      assert.deepEqual([...mail.recipients], ["ada@example.com"]);
      assert.equal(mail.subject, "Your order");
      assert.equal(lines(mail.text), "It is on its way.");
      assert.equal(mail.html, null, "the mail is text only");
    }),
    entry("every recipient gets it, including copies and blind copies", async ({ transport, arrived }) => {
      const [cc, bcc] = [[{ address: "cc@example.com", name: null }], [{ address: "bcc@example.com", name: null }]];
      await transport.deliver(message({ to: [ADA, GRACE], cc, bcc }), delivery());
      const recipients = (await arrived()).flatMap((mail) => mail.recipients);
      assert.deepEqual(recipients.toSorted(), [
        "ada@example.com",
        "bcc@example.com",
        "cc@example.com",
        "grace@example.com",
      ]);
    }),
    entry("the sender and the addresses for replies arrive", async ({ transport, arrived }) => {
      const replyTo = ["help", "sales"].map((name) => ({ address: `${name}@shop.example`, name: null }));
      await transport.deliver(message({ replyTo }), delivery());
      const [mail] = await arrived();
      assert.ok(mail !== undefined, "nothing has arrived");
      if (mail.from !== null) assert.equal(mail.from, "shop@shop.example");
      if (mail.replyTo !== null) assert.deepEqual([...mail.replyTo], ["help@shop.example", "sales@shop.example"]);
    }),
    entry("text, HTML and attachments arrive unchanged", async ({ transport, arrived }) => {
      const text = `Grüße, 漢字 🔑\n.\n..\nFrom here\n${"x".repeat(2000)}\n\n=3D %20 <b>`;
      const html = `<p>Grüße &amp; 漢字 🔑</p>\n<p>${"y".repeat(2000)}</p>`;
      const attachments = [
        { filename: "Größe.txt", content: "drei Meter" },
        { filename: "bytes.txt", content: new TextEncoder().encode("漢字") },
      ];
      await transport.deliver(message({ subject: "Über 漢字 🔑", text, html, attachments }), delivery());
      const [mail] = await arrived();
      assert.equal(mail?.subject, "Über 漢字 🔑");
      assert.equal(lines(mail.text), lines(text));
      assert.equal(lines(mail.html ?? ""), lines(html));
      assert.deepEqual({ ...mail.attachments }, { "Größe.txt": "drei Meter", "bytes.txt": "漢字" });
    }),
    entry("of many concurrent mails, each arrives exactly once, with its own recipient and text", async (made) => {
      const mails = Array.from({ length: 20 }, (_, index) => {
        const to = [{ address: `buyer-${index}@example.com`, name: null }];
        return message({ to, subject: `Order ${index}`, text: `Order ${index} is on its way.` });
      });
      await Promise.all(mails.map((mail) => made.transport.deliver(mail, delivery())));
      const arrived = await made.arrived();
      assert.deepEqual(
        arrived.map(({ recipients, subject, text }) => [recipients.join(), subject, lines(text)].join("|")).toSorted(),
        mails.map(({ to, subject, text }) => [to[0]?.address, subject, text].join("|")).toSorted(),
      );
    }),
    entry("the same mail can be sent again, and is not changed", async ({ transport, arrived }) => {
      const mail = message();
      const before = JSON.stringify(mail);
      await transport.deliver(mail, delivery());
      await transport.deliver(mail, delivery());
      assert.equal(JSON.stringify(mail), before);
      const ids = (await arrived()).map(({ id }) => id);
      assert.ok(ids.length >= 1, "nothing has arrived");
      for (const id of ids) if (id !== null) assert.equal(id, mail.id, "each attempt must keep the id of the mail");
    }),
    entry("a check delivers nothing", async ({ transport, arrived }) => {
      await transport.check?.();
      assert.deepEqual(await arrived(), []);
    }),
  ];
  if (unreachable === undefined) return always;
  return [
    ...always,
    {
      title: "an undeliverable mail rejects, and may be tried again",
      async run() {
        const transport = await unreachable();
        try {
          const error = await Promise.resolve(transport.deliver(message(), delivery())).then(
            () => assert.fail("the delivery resolved, and the mail would be lost"),
            (thrown: unknown) => thrown,
          );
          assert.ok(error instanceof Error, "the error is an Error");
          if (error instanceof assert.AssertionError) throw error;
          assert.notEqual((error as { permanent?: unknown }).permanent, true, "the mail would be abandoned at once");
        } finally {
          await transport.close();
        }
      },
    },
    {
      title: "a check of an unreachable server rejects",
      async run() {
        const transport = await unreachable();
        try {
          if (transport.check !== undefined) await assert.rejects(transport.check());
        } finally {
          await transport.close();
        }
      },
    },
  ];
}
