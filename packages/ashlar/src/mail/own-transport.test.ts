import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { type Application, createApplication } from "../boot/index.ts";
import { generateSecret } from "../security/index.ts";
import { ViewProvider } from "../views/index.ts";
import {
  type Delivery,
  DeliveryError,
  Mailable,
  type MailContent,
  type MailMessage,
  MailProvider,
  type MailTransport,
  type MailTransportSource,
  mailbox,
  memoryTransport,
  smtp,
} from "./index.ts";

class Note extends Mailable {
  readonly #subject: string;

  constructor(subject: string) {
    super();
    this.#subject = subject;
  }

  override subject(): string {
    return this.#subject;
  }

  override content(): MailContent {
    return { text: "note" };
  }
}

async function create(transport: unknown, environment = "development", more: object = {}): Promise<Application> {
  const root = await folderWith({ "views/note.edge": "Hello" });
  const application = await createApplication({
    root,
    providers: [ViewProvider, MailProvider],
    environment: { APP_ENV: environment, APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
    config: {
      app: { APP: { name: "Shop", log: { level: "silent" } } },
      mail: { MAIL: { from: { address: "shop@shop.example" }, transport, ...more } },
    },
  });
  onTestFinished(() => application.shutdown());
  return application;
}

type Outcome = Promise<readonly string[]> | Promise<void>;

/** Records mails; a function decides whether each attempt fails. */
class Recording implements MailTransport {
  readonly tried: MailMessage[] = [];
  readonly deliveries: Delivery[] = [];
  readonly events: string[] = [];
  readonly #outcome: (attempt: number) => Outcome;

  constructor(outcome: (attempt: number) => Outcome = async () => {}) {
    this.#outcome = outcome;
  }

  deliver(message: MailMessage, delivery: Delivery): Outcome {
    this.tried.push(message);
    this.deliveries.push(delivery);
    return this.#outcome(this.tried.length);
  }

  async close(): Promise<void> {
    this.events.push("closing");
    await new Promise((resolve) => setImmediate(resolve));
    this.events.push("closed");
  }
}

test("an application can have its own transport, as an object or as a function that creates one", async () => {
  const transport = new Recording();
  const given: unknown[] = [];
  const source: MailTransportSource = (container) => {
    given.push(container.has("views"));
    return transport;
  };
  for (const one of [transport, source]) {
    const mailer = (await create(one)).container.make("mail");
    const note = new Note("A note");
    await mailer.send(note, "ada@example.com");
    const to = [expect.objectContaining({ address: "ada@example.com" })];
    expect(transport.tried.pop()).toMatchObject({ subject: "A note", text: "Hello", to });
    expect(transport.deliveries.pop()).toEqual({ signal: expect.any(AbortSignal), mailable: note });
  }
  expect(given).toEqual([true]);
});

test("after a failure, the same message is sent again, unless the failure is marked as permanent", async () => {
  const retry = { attempts: 3, delaySeconds: 0.01 };
  const passing = new Recording(async (attempt) => {
    if (attempt === 1) throw new TypeError("fetch failed");
    if (attempt === 2) throw new DeliveryError("The service responded with 429.", { permanent: false });
  });
  const first = (await create(passing, "development", { retry })).container.make("mail");
  first.queue(new Note("Again"), "ada@example.com");
  await first.settled();
  expect([passing.tried.length, new Set(passing.tried).size]).toEqual([3, 1]);

  const refusing = new Recording(async () => {
    throw new DeliveryError("The service responded with 400.", { permanent: true });
  });
  const second = (await create(refusing, "development", { retry })).container.make("mail");
  second.queue(new Note("Once"), "ada@example.com");
  await second.settled();
  expect(refusing.tried).toHaveLength(1);
});

test.each([
  [2, 2],
  [undefined, 5],
])("with the concurrency %s, %s mails are delivered at once", async (concurrency, most) => {
  let [now, seen] = [0, 0];
  const transport: MailTransport = {
    ...(concurrency === undefined ? {} : { concurrency }),
    async deliver() {
      seen = Math.max(seen, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
    },
    close() {},
  };
  const mailer = (await create(transport)).container.make("mail");
  for (let index = 0; index < 12; index++) mailer.queue(new Note(`Note ${index}`), "ada@example.com");
  await mailer.settled();
  expect(seen).toBe(most);
});

test("it is closed at shutdown, which waits for it", async () => {
  const transport = new Recording();
  const application = await create(transport);
  await application.container.make("mail").send(new Note("A note"), "ada@example.com");
  await application.shutdown();
  expect(transport.events).toEqual(["closing", "closed"]);
});

test.each([
  ["S48 the mailbox in production", mailbox(), "production", "The mailbox is for development only."],
  ["S48 the mailbox in tests", mailbox(), "test", "The mailbox is for development only."],
  ["S48 the memory transport in production", memoryTransport(), "production", "which sends no mail, in production"],
  ["SMTP without a host", smtp({ host: undefined }), "development", "config/mail.ts: smtp(): has no host."],
  ["an invalid port", smtp({ host: "a", port: 0 }), "development", "config/mail.ts: smtp().port: is "],
  ["a function that returns nothing", () => undefined, "development", "is a function that did not return a transport."],
])("%s fails startup", async (_, transport, environment, message) => {
  await expect(create(transport, environment)).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
    message: expect.stringContaining(message),
  });
});

test("mailbox() has its page, and memoryTransport() captures mails", async () => {
  const developing = await create(mailbox());
  await developing.container.make("mail").send(new Note("A note"), "ada@example.com");
  const page = await developing.fetch(new Request("http://localhost/dev/mailbox.json"));
  expect(await page.text()).toContain("A note");
  const capturing = (await create(memoryTransport(), "test")).container.make("mail");
  await capturing.send(new Note("Another"), "ada@example.com");
  expect(capturing.assertSent(Note).subject).toBe("Another");
});
