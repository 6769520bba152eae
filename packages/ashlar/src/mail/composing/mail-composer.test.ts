import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Catalogue } from "../../messages/index.ts";
import { Route, Router } from "../../routing/index.ts";
import { generateSecret, Signer } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { Views } from "../../views/index.ts";
import { mailAddress } from "../message/mail-address.ts";
import type { MailMessage } from "../message/mail-message.ts";
import { MailComposer } from "./mail-composer.ts";
import { MailLinks } from "./mail-links.ts";
import { Mailable, type MailContent } from "./mailable.ts";

const URL_OF_APP = "https://shop.example";
let directory: string;
let router: Router;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "mails-"));
  mkdirSync(join(directory, "mail"));
  write("hello.text", "Hello {{ name }},\n\nwelcome to {{ app.name }}.\n");
  write("hello.html", "<p>Hello {{ name }},</p>\n<p>welcome to {{ app.name }}.</p>");
  const entries = [
    Route.get("/orders/@id:int", () => "").name("orders.show"),
    Route.get("/tenant", () => "")
      .name("tenant")
      .domain("@tenant.shop.example"),
  ];
  router = new Router([{ entries, stack: null, prefix: "", respondsWithJson: false, file: "routes" }], {
    signer: new Signer(generateSecret(), "signed-url"),
    appUrl: URL_OF_APP,
  });
});

afterEach(() => {
  rmSync(directory, { recursive: true });
  setClock(null);
});

function write(name: string, text: string): void {
  writeFileSync(join(directory, "mail", `${name}.edge`), text);
}

const messages = new Catalogue("en", ["de"]);
messages.declare(
  { "shop.hello": "Hello {name}" },
  { de: async () => ({ MESSAGES: { "shop.hello": "Hallo {name}" } }) },
);
await messages.load();

function compose(mailable: Mailable, ...to: string[]): Promise<MailMessage> {
  const composer = new MailComposer({
    views: () => new Views({ directory, cache: true }),
    links: new MailLinks(
      () => URL_OF_APP,
      () => router,
    ),
    messages,
    from: mailAddress({ address: "shop@shop.example", name: "Shop" }, "The sender"),
    app: { name: "The <Shop>", url: URL_OF_APP },
  });
  return composer.compose(
    mailable,
    to.map((address) => mailAddress(address, "The recipient")),
  );
}

class Hello extends Mailable {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }

  override subject(): string {
    return `Hello ${this.name}`;
  }

  override content(): MailContent {
    return { text: "mail/hello.text", html: "mail/hello.html", data: { name: this.name } };
  }
}

/** A text-only mail, defined by functions. */
class Custom extends Mailable {
  readonly #content: (mail: Custom) => MailContent;
  readonly #subject: string;

  constructor(content: (mail: Custom) => MailContent, subject = "Custom") {
    super();
    this.#content = content;
    this.#subject = subject;
  }

  override subject(): string {
    return this.#subject;
  }

  override content(): MailContent {
    return this.#content(this);
  }

  links(path: string): string {
    return this.url(path);
  }
}

describe("composing", () => {
  test("subject, text and HTML come from the mailable, and sender and application name from the configuration", async () => {
    setClock(() => Date.UTC(2026, 0, 2));
    const message = await compose(new Hello("Jane").to("Jane@Shop.example", "Jane Doe"));
    expect(message).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}@shop\.example$/),
      date: new Date(Date.UTC(2026, 0, 2)),
      mailable: "Hello",
      from: { address: "shop@shop.example", name: "Shop" },
      to: [{ address: "jane@shop.example", name: "Jane Doe" }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: "Hello Jane",
      text: "Hello Jane,\n\nwelcome to The <Shop>.",
      html: "<p>Hello Jane,</p>\n<p>welcome to The &lt;Shop&gt;.</p>",
      attachments: [],
      headers: [],
    });
    expect(Object.isFrozen(message)).toBe(true);
  });

  test("its id has the sender's domain in its ASCII form", async () => {
    const { id } = await compose(new Hello("Jane").to("jane@shop.example").from("jobs@exämple.example"));
    expect(id).toMatch(/^[0-9a-f-]{36}@xn--exmple-cua\.example$/);
  });

  test("copies, reply addresses, sender and attachments can be chained", async () => {
    const mail = new Hello("Jane")
      .to("jane@shop.example")
      .cc("c@shop.example", "C")
      .bcc("b@shop.example")
      .replyTo("help@shop.example")
      .from("jobs@shop.example", "Jobs")
      .attach({ filename: "a.txt", content: "a" })
      .attach({ filename: "b.pdf", content: new Uint8Array([1]), contentType: "application/pdf" });
    expect(await compose(mail)).toMatchObject({
      from: { address: "jobs@shop.example", name: "Jobs" },
      cc: [{ address: "c@shop.example", name: "C" }],
      bcc: [{ address: "b@shop.example", name: null }],
      replyTo: [{ address: "help@shop.example", name: null }],
      attachments: [
        { filename: "a.txt", content: "a" },
        { filename: "b.pdf", content: new Uint8Array([1]), contentType: "application/pdf" },
      ],
    });
  });

  test("one mailable sent to two recipients in turn shows neither of them the other", async () => {
    const mail = new Hello("all");
    expect((await compose(mail, "a@shop.example")).to).toEqual([{ address: "a@shop.example", name: null }]);
    expect((await compose(mail, "b@shop.example")).to).toEqual([{ address: "b@shop.example", name: null }]);
  });

  test("a mail can be text only", async () => {
    expect(
      (await compose(new Custom(() => ({ text: "mail/hello.text", data: { name: "J" } })), "a@b.example")).html,
    ).toBeNull();
  });

  test.each([
    ["no recipient", () => new Hello("Jane"), [], "Hello has no recipient."],
    [
      "HTML only",
      () => new Custom(() => ({ html: "mail/hello.html" }) as unknown as MailContent),
      ["a@b.example"],
      "Custom has no text view.",
    ],
  ])("a mail with %s is refused", async (_, make, to, message) => {
    await expect(compose(make(), ...to)).rejects.toThrow(message);
    await expect(compose(make(), ...to)).rejects.toMatchObject({ code: "E_INVALID_MAIL" });
  });

  test("a missing view is named", async () => {
    await expect(compose(new Custom(() => ({ text: "mail/helo.text" })), "a@b.example")).rejects.toMatchObject({
      code: "E_VIEW",
      message: expect.stringContaining('There is no view "mail/helo.text"'),
    });
  });
});

describe("user input", () => {
  const attack = `<script>alert("1")</script> & O'Brien \``;

  test("S41 it is escaped in HTML, and unchanged in the text", async () => {
    const { text, html } = await compose(new Hello(attack), "jane@shop.example");
    expect(html).toBe(
      "<p>Hello &lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; O&#x27;Brien &#x60;,</p>\n<p>welcome to The &lt;Shop&gt;.</p>",
    );
    expect(text).toBe(`Hello ${attack},\n\nwelcome to The <Shop>.`);
  });

  test("S41 no input leaves markup in the HTML or is changed in the text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom(..."<>&\"'`;#xalmpgt27 ") }), async (typed) => {
        const { text, html } = await compose(new Hello(`x${typed}x`), "jane@shop.example");
        expect(html!.split(",</p>")[0]!.slice("<p>".length)).not.toMatch(/[<>"'`]/);
        expect(text).toBe(`Hello x${typed}x,\n\nwelcome to The <Shop>.`);
      }),
      { numRuns: 50 },
    );
  });

  test("S41 a subject with any kind of line break is refused", async () => {
    for (const end of ["\r\n", "\n", "\r", "\u2028", "\0"]) {
      await expect(compose(new Hello(`Jane${end}Bcc: joe@evil.example`), "jane@shop.example")).rejects.toMatchObject({
        code: "E_INVALID_MAIL",
        message: "The subject of Hello contains a line break or another control character.",
      });
    }
  });

  test("S35 S41 setting an address, name or attachment that would add headers fails", () => {
    const mail = new Hello("Jane");
    const invalid = expect.objectContaining({ code: "E_INVALID_MAIL" });
    for (const role of ["to", "cc", "bcc", "replyTo", "from"] as const) {
      expect(() => mail[role]("jane@shop.example, joe@evil.example")).toThrow(invalid);
      expect(() => mail[role]("jane@shop.example", "Jane\r\nBcc: joe@evil.example")).toThrow(invalid);
    }
    expect(() => mail.attach({ filename: "a\r\nX: y", content: "" })).toThrow(invalid);
    expect(() => mail.attach({ filename: "a", content: "", contentType: "text/html\r\nX: y" })).toThrow(invalid);
    expect(mail.envelope()).toEqual({ to: [], cc: [], bcc: [], replyTo: [], from: null, attachments: [] });
  });
});

describe("links", () => {
  test("S40 they have the host of APP_URL, in the class and in the views", async () => {
    write(
      "links.text",
      "{{ url('/a?b=1&c=2') }}\n{{ route('orders.show', { id: 7 }, { page: 2 }) }}\n{{ link }}\n{{ app.url }}",
    );
    const message = await compose(
      new Custom((mail) => ({ text: "mail/links.text", data: { link: mail.links("/x") } })),
      "a@b.example",
    );
    expect(message.text).toBe(
      "https://shop.example/a?b=1&c=2\nhttps://shop.example/orders/7?page=2\nhttps://shop.example/x\nhttps://shop.example",
    );
  });

  test("a signed link is valid only for its path, and expires", async () => {
    setClock(() => Date.UTC(2026, 0, 1));
    write("links.text", "{{ signedRoute('orders.show', { id: 7 }, { expiresInMinutes: 60 }) }}");
    const { text } = await compose(new Custom(() => ({ text: "mail/links.text" })), "a@b.example");
    expect(text).toMatch(/^https:\/\/shop\.example\/orders\/7\?expires=\d+&signature=[\w.-]+$/);
    expect(router.hasValidSignature(text)).toBe(true);
    expect(router.hasValidSignature(text.replace("/7", "/8"))).toBe(false);
    setClock(() => Date.UTC(2026, 0, 1, 1, 1));
    expect(router.hasValidSignature(text)).toBe(false);
  });

  test("a route with its own domain keeps it", async () => {
    write("links.text", "{{ route('tenant', { tenant: 'acme' }) }}");
    const { text } = await compose(new Custom(() => ({ text: "mail/links.text" })), "a@b.example");
    expect(text).toBe("https://acme.shop.example/tenant");
  });

  test.each([
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "x",
    "",
    "/\t/evil.example",
  ])("S40 url(%j) is refused, because it could lead to another host", (path) => {
    expect(() =>
      new MailLinks(
        () => URL_OF_APP,
        () => router,
      ).url(path),
    ).toThrow(expect.objectContaining({ code: "E_INVALID_MAIL" }));
  });

  test("S40 no path leads to another host", () => {
    const links = new MailLinks(
      () => URL_OF_APP,
      () => router,
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."/\\@:.?#evil \t\r\n%25") }), (path) => {
        try {
          expect(new URL(links.url(`/${path}`)).origin).toBe(URL_OF_APP);
        } catch (error) {
          expect(error).toMatchObject({ code: "E_INVALID_MAIL" });
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("creating a link before the mail is composed fails, and the error says where to do it", () => {
    expect(() => new Custom(() => ({ text: "mail/hello.text" })).links("/x")).toThrow(
      "Custom creates a link too early: call url(), route() and signedRoute() in subject(), content() or headers().",
    );
  });
});

describe("the language of a mail", () => {
  class Greeting extends Mailable {
    override subject(): string {
      return this.t({ rule: "shop.hello", params: { name: "Ada" }, message: "Hello Ada" });
    }

    override content(): MailContent {
      return { text: "mail/greeting" };
    }
  }

  test("is the default unless the mail sets another, in its subject and its views", async () => {
    write("greeting", '{{ language }}: {{ t("shop.hello", { name: "O\'Brien" }) }}');
    const { subject, text } = await compose(new Greeting(), "ada@example.com");
    expect([subject, text]).toEqual(["Hello Ada", "en: Hello O'Brien"]);
    const german = await compose(new Greeting().inLanguage("de"), "ada@example.com");
    expect([german.subject, german.text]).toEqual(["Hallo Ada", "de: Hallo O'Brien"]);
  });

  test("is not known before the mail is composed", () => {
    const expected = "Greeting uses t() too early: call it in subject(), content() or headers().";
    expect(() => new Greeting().subject()).toThrow(expected);
  });

  test("is unknown again afterwards", () => {
    const greeting = new Greeting();
    const links = new MailLinks(
      () => URL_OF_APP,
      () => router,
    );
    expect(greeting.draft(links, messages).subject).toBe("Hello Ada");
    expect(() => greeting.subject()).toThrow("Greeting uses t() too early");
  });
});
