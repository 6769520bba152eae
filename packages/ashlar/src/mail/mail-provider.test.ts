import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Application, type ApplicationOptions, createApplication } from "../boot/index.ts";
import { EventProvider } from "../events/index.ts";
import { Route } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
import { ViewProvider } from "../views/index.ts";
import { Mailable, type MailContent, Mailer, MailProvider, type MailSentEvent } from "./index.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "mail-"));
  mkdirSync(join(root, "views"));
  writeFileSync(join(root, "views/welcome.text.edge"), "Hello {{ name }}: {{ link }}");
  writeFileSync(join(root, "views/welcome.html.edge"), '<p>Hello {{ name }}: <a href="{{ link }}">{{ link }}</a></p>');
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

class Welcome extends Mailable {
  readonly #name: string;

  constructor(name = "Jane") {
    super();
    this.#name = name;
  }

  override subject(): string {
    return `Welcome, ${this.#name}`;
  }

  override content(): MailContent {
    const link = this.route("orders.show", { id: 7 });
    return { text: "welcome.text", html: "welcome.html", data: { name: this.#name, link } };
  }
}

class Goodbye extends Welcome {}

class Other extends Mailable {
  override subject(): string {
    return "Other";
  }

  override content(): MailContent {
    return { text: "nope" };
  }
}

const PRODUCTION = { from: { address: "shop@shop.example" }, smtp: { host: "smtp.shop.example" } };

function create(environment: string, mail?: object, more: ApplicationOptions = {}): Promise<Application> {
  return createApplication({
    root,
    providers: [MailProvider, ViewProvider, EventProvider],
    environment: { APP_ENV: environment, APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
    config: {
      app: { APP: { name: "Shop", log: { level: "silent" } } },
      ...(mail === undefined ? {} : { mail: { MAIL: mail } }),
    },
    routes: [Route.get("/orders/@id:int", () => "").name("orders.show")],
    ...more,
  });
}

describe("the boot", () => {
  test("binds the service, whatever the order of the providers", async () => {
    const application = await create("test");
    expect(application.container.make("mail")).toBeInstanceOf(Mailer);
  });

  test("a handler sends mails with the same service", async () => {
    const application = await create("test", undefined, {
      routes: [
        Route.get("/orders/@id:int", () => "").name("orders.show"),
        Route.post("/welcome", async ({ mail }) => {
          await mail.send(new Welcome(), "jane@shop.example");
          return "sent";
        }),
      ],
    });
    const response = await application.fetch(new Request("https://shop.example/welcome", { method: "POST" }));
    expect(await response.text()).toBe("sent");
    expect(application.container.make("mail").captured.map(({ subject }) => subject)).toEqual(["Welcome, Jane"]);
  });

  test("S48 fails in production if no server is configured, and names the missing settings", async () => {
    await expect(create("production")).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("config/mail.ts: MAIL: needs smtp.host and from.address"),
    });
  });

  test("S48 fails in production if the mailbox is on", async () => {
    await expect(create("production", { ...PRODUCTION, transport: "mailbox" })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("The mailbox is for development only."),
    });
  });

  test.each([
    ["production", PRODUCTION],
    ["test", undefined],
  ])("S48 serves no mailbox in %s, at any of its paths", async (environment, mail) => {
    const application = await create(environment, mail);
    for (const path of [
      "/dev/mailbox",
      "/dev/mailbox/",
      "/dev/mailbox.json",
      "/dev/mailbox/1",
      "/dev/mailbox/preview",
    ]) {
      expect((await application.fetch(new Request(`https://shop.example${path}`))).status).toBe(404);
    }
    await application.shutdown();
  });

  test("S40 S48 fails in production if APP_URL is missing", async () => {
    const environment = { APP_ENV: "production", APP_KEY: generateSecret(), APP_URL: "" };
    await expect(create("production", PRODUCTION, { environment })).rejects.toMatchObject({
      code: "E_MISSING_ENVIRONMENT",
      message: expect.stringContaining("APP_URL"),
    });
  });

  test("without views, sends mails that contain their text, and fails for others, naming the missing service", async () => {
    class Plain extends Welcome {
      override content() {
        return { plainText: " 1 < 2 & &amp;\n" };
      }
    }
    const application = await create("test", undefined, { providers: [MailProvider] });
    const mailer = application.container.make("mail");
    await mailer.send(new Plain(), "jane@shop.example");
    expect(mailer.captured).toMatchObject([{ text: "1 < 2 & &amp;", html: null }]);
    await expect(mailer.send(new Welcome(), "jane@shop.example")).rejects.toMatchObject({
      code: "E_UNKNOWN_SERVICE",
      message: expect.stringContaining('Nothing is bound to "views".'),
    });
    await application.shutdown();
  });

  test("an application without events still sends mails", async () => {
    const application = await create("test", undefined, { providers: [ViewProvider, MailProvider] });
    const mailer = application.container.make("mail");
    await mailer.send(new Welcome(), "jane@shop.example");
    expect(mailer.captured).toHaveLength(1);
  });

  test("without APP_URL, links in development have this machine's address and port", async () => {
    const application = await createApplication({
      root,
      providers: [ViewProvider, MailProvider],
      environment: { APP_ENV: "test", PORT: "4321", APP_URL: "" },
      routes: [Route.get("/orders/@id:int", () => "").name("orders.show")],
    });
    const mailer = application.container.make("mail");
    await mailer.send(new Welcome(), "jane@shop.example");
    expect(mailer.captured[0]!.text).toBe("Hello Jane: http://localhost:4321/orders/7");
  });
});

describe("a request's headers", () => {
  test("S40 never affect the links in a mail", async () => {
    const application: Application = await create("test", undefined, {
      routes: [
        Route.get("/orders/@id:int", () => "").name("orders.show"),
        Route.post("/register", async () => {
          await application.container.make("mail").send(new Welcome(), "jane@shop.example");
          application.container.make("mail").queue(new Welcome(), "joe@shop.example");
          return "sent";
        }),
      ],
    });
    const headers = {
      host: "evil.example",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "http",
      forwarded: "host=evil.example",
      origin: "https://evil.example",
      referer: "https://evil.example/",
    };
    const response = await application.fetch(new Request("https://evil.example/register", { method: "POST", headers }));
    expect(await response.text()).toBe("sent");
    const mailer = application.container.make("mail");
    await mailer.settled();
    expect(mailer.captured.map(({ to }) => to)).toEqual(["jane@shop.example", "joe@shop.example"]);
    for (const mail of mailer.captured) {
      expect(JSON.stringify(mail)).not.toContain("evil");
      expect(mail.text).toBe("Hello Jane: https://shop.example/orders/7");
    }
  });
});

describe("captured mails", () => {
  test("a sent mail is captured completely, in the order of sending, until cleared", async () => {
    const mailer = (await create("test")).container.make("mail");
    const attachment = { filename: "a.txt", content: "a" };
    await mailer.send(new Welcome().attach(attachment), [
      "Jane@shop.example",
      { address: "joe@shop.example", name: "Joe" },
    ]);
    await mailer.send(new Goodbye("Joe").to("joe@shop.example"));
    expect(mailer.captured).toEqual([
      {
        to: "jane@shop.example, joe@shop.example",
        cc: "",
        bcc: "",
        from: "no-reply@shop.example",
        subject: "Welcome, Jane",
        text: "Hello Jane: https://shop.example/orders/7",
        html: '<p>Hello Jane: <a href="https://shop.example/orders/7">https://shop.example/orders/7</a></p>',
        attachments: [attachment],
        headers: {},
      },
      expect.objectContaining({ subject: "Welcome, Joe", to: "joe@shop.example" }),
    ]);
    mailer.clear();
    expect(mailer.captured).toEqual([]);
  });

  test("a queued mail is sent after the response, and captured once the queue is settled", async () => {
    const order: string[] = [];
    const application: Application = await create("test", undefined, {
      routes: [
        Route.get("/orders/@id:int", () => "").name("orders.show"),
        Route.get("/", async () => {
          application.container.make("mail").queue(new Welcome(), "jane@shop.example");
          await Promise.resolve();
          return "answer";
        }),
      ],
    });
    const mailer = application.container.make("mail");
    application.container.make("events").on("mail.sent", () => void order.push("mail"));
    await application.fetch(new Request("https://shop.example/"));
    order.push("answer");
    expect(mailer.captured).toEqual([]);
    await mailer.settled();
    await application.container.make("events").settled();
    expect(order).toEqual(["answer", "mail"]);
    mailer.assertSent(Welcome);
  });

  test("a mail with a missing or invalid recipient is refused when it is queued", async () => {
    const mailer = (await create("test")).container.make("mail");
    expect(() => mailer.queue(new Welcome())).toThrow("Welcome has no recipient.");
    expect(() => mailer.queue(new Welcome(), "nobody")).toThrow("The recipient is not an email address.");
    expect(() => mailer.queue(new Welcome(), [])).toThrow(expect.objectContaining({ code: "E_INVALID_MAIL" }));
    await expect(mailer.send(new Welcome())).rejects.toMatchObject({ code: "E_INVALID_MAIL" });
    mailer.assertNothingSent();
  });

  test("a queued mail that cannot be composed fails without keeping others from being sent", async () => {
    const application = await create("test");
    const mailer = application.container.make("mail");
    const failed: string[] = [];
    application.container
      .make("events")
      .on("mail.failed", ({ mailable, reason }) => void failed.push(`${mailable}: ${reason}`));
    mailer.queue(new Other(), "jane@shop.example");
    mailer.queue(new Welcome(), "jane@shop.example");
    await mailer.settled();
    await application.container.make("events").settled();
    expect(mailer.captured.map(({ subject }) => subject)).toEqual(["Welcome, Jane"]);
    expect(failed).toEqual([expect.stringMatching(/^Other: There is no view "nope"/)]);
    await expect(mailer.send(new Other(), "jane@shop.example")).rejects.toMatchObject({ code: "E_VIEW" });
  });

  test("send() rejects with the error that the mail's own code throws", async () => {
    const mailer = (await create("test")).container.make("mail");
    const defect = new TypeError("There is no order.");
    class Defective extends Welcome {
      override content(): MailContent {
        throw defect;
      }
    }
    await expect(mailer.send(new Defective(), "jane@shop.example")).rejects.toBe(defect);
  });

  test("a shutdown waits for queued mails", async () => {
    const application = await create("test");
    const mailer = application.container.make("mail");
    for (let number = 0; number < 50; number++) mailer.queue(new Welcome(`J${number}`), "jane@shop.example");
    await application.shutdown();
    expect(mailer.captured).toHaveLength(50);
  });

  test("two applications capture separately", async () => {
    const [first, second] = [await create("test"), await create("test")];
    await first.container.make("mail").send(new Welcome(), "jane@shop.example");
    second.container.make("mail").assertNothingSent();
  });

  test("if mails are not kept in memory, reading them throws an error", async () => {
    const application = await create("development");
    const mailer = application.container.make("mail");
    for (const ask of [
      () => mailer.captured,
      () => mailer.clear(),
      () => mailer.assertSent(Welcome),
      () => mailer.assertNothingSent(),
    ]) {
      expect(ask).toThrow(expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }));
    }
  });
});

describe("assertions", () => {
  test("a class matches its mails and those of its subclasses, a function those it accepts", async () => {
    const mailer = (await create("test")).container.make("mail");
    await mailer.send(new Goodbye("Joe"), "joe@shop.example");
    await mailer.send(new Welcome("Jane"), "jane@shop.example");
    expect(mailer.assertSent(Goodbye).to).toBe("joe@shop.example");
    expect(mailer.assertSent(Welcome).to).toBe("joe@shop.example");
    expect(mailer.assertSent(Mailable).to).toBe("joe@shop.example");
    expect(mailer.assertSent(({ to }) => to === "jane@shop.example").subject).toBe("Welcome, Jane");
  });

  test("a failed assertion lists the sent mails", async () => {
    const mailer = (await create("test")).container.make("mail");
    const failure = (message: string) => expect.objectContaining({ name: "AssertionError", message });
    expect(() => mailer.assertSent(Welcome)).toThrow(failure("No Welcome was sent. No mails were sent."));
    await mailer.send(new Welcome(), "jane@shop.example");
    const sent = "Sent mails:\n  Welcome to jane@shop.example: Welcome, Jane";
    expect(() => mailer.assertSent(Goodbye)).toThrow(failure(`No Goodbye was sent. ${sent}`));
    expect(() => mailer.assertSent(() => false)).toThrow(failure(`No matching mail was sent. ${sent}`));
    expect(() => mailer.assertNothingSent()).toThrow(failure(sent));
  });

  test("both assertions fail while mails are queued", async () => {
    const mailer = (await create("test")).container.make("mail");
    mailer.queue(new Welcome(), "jane@shop.example");
    const message = "Mails still in the queue: 1. Call await mailer.settled() first.";
    expect(() => mailer.assertNothingSent()).toThrow(message);
    expect(() => mailer.assertSent(Welcome)).toThrow(message);
    await mailer.settled();
    mailer.assertSent(Welcome);
  });

  test("both assertions fail while a background job is running, which could queue a mail", async () => {
    const application = await create("test");
    const mailer = application.container.make("mail");
    application.background.run("a welcome", async () => mailer.queue(new Welcome(), "jane@shop.example"));
    expect(() => mailer.assertNothingSent()).toThrow("await mailer.settled() first");
    await mailer.settled();
    mailer.assertSent(Welcome);
  });
});

describe("events", () => {
  test("a sent mail is reported with its recipients, without its content", async () => {
    const application = await create("test");
    const events: MailSentEvent[] = [];
    application.container.make("events").on("mail.sent", (event) => void events.push(event));
    await application.container
      .make("mail")
      .send(new Welcome().cc("c@shop.example").bcc("b@shop.example"), "jane@shop.example");
    await application.container.make("events").settled();
    expect(events).toEqual([
      {
        time: expect.any(Date),
        mailable: "Welcome",
        recipients: ["jane@shop.example", "c@shop.example", "b@shop.example"],
        messageId: expect.stringMatching(/^[0-9a-f-]{36}@shop\.example$/),
      },
    ]);
  });
});

describe("the stats", () => {
  test("count the mails that wait, were sent, or will never be sent", async () => {
    const application = await create("test");
    const { container } = application;
    const mailer = container.make("mail");
    const mail = () => application.stats().mail;
    expect(mail()).toEqual({ queued: 0, sent: 0, failed: 0, failedAttempts: 0, outbox: null });
    for (const address of ["jane@shop.example", "joe@shop.example"]) mailer.queue(new Welcome(), address);
    mailer.queue(new Other(), "jane@shop.example");
    expect(mail()).toEqual({ queued: 3, sent: 0, failed: 0, failedAttempts: 0, outbox: null });
    await mailer.settled();
    await container.make("events").settled();
    expect(mail()).toEqual({ queued: 0, sent: 2, failed: 1, failedAttempts: 0, outbox: null });
  });

  test("count only the mails that wait in an application without events", async () => {
    const application = await create("test", undefined, { providers: [ViewProvider, MailProvider] });
    const mailer = application.container.make("mail");
    mailer.queue(new Welcome(), "jane@shop.example");
    expect(application.stats().mail).toEqual({ queued: 1, sent: 0, failed: 0, failedAttempts: 0, outbox: null });
    await mailer.settled();
    expect(application.stats().mail).toEqual({ queued: 0, sent: 0, failed: 0, failedAttempts: 0, outbox: null });
  });
});

test.each([
  [10, 9],
  [4, 3.2],
])("of a shutdown's %s seconds, mails get %s, so that those that are lost can be logged", async (seconds, ofMails) => {
  vi.spyOn(performance, "now").mockReturnValue(1000);
  const close = vi.spyOn(Mailer.prototype, "close");
  onTestFinished(() => void vi.restoreAllMocks());
  const application = await create("test", undefined, {
    config: { app: { APP: { log: { level: "silent" }, server: { shutdownTimeoutSeconds: seconds } } } },
  });
  await application.shutdown();
  expect(close.mock.calls).toEqual([[ofMails]]);
});
