import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import fc from "fast-check";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.ts";
import { freePort } from "../../../test/support/free-port.ts";
import { type Application, createApplication, createLogger } from "../../boot/index.ts";
import { EventProvider } from "../../events/index.ts";
import { AshlarError } from "../../support/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { Mailable, type MailContent, MailProvider } from "../index.ts";

// Only for this test: a key that protects nothing, and its certificate for localhost and 127.0.0.1 until 2126.
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwQHEU+JiF38K5zqh
Jfeto4+E5c0MnUR27ai3GBeqasmhRANCAAS8FvWQn7gItkAjXNg557wbswjD2IDe
esfLTbc3nJT87XpQJ5tTnbVfSHJBHNCdte52TVuyeufCh9eyz7XtWXBf
-----END PRIVATE KEY-----
`;
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUNYKgGMAlcLD3G2IlE+396n5+l5YwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAwNDIwN1oYDzIxMjYxMDI4
MDA0MjA3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAS8FvWQn7gItkAjXNg557wbswjD2IDeesfLTbc3nJT87XpQJ5tTnbVf
SHJBHNCdte52TVuyeufCh9eyz7XtWXBfo28wbTAdBgNVHQ4EFgQU09KhvTBzjguo
SpT/ctQ3e8nORtQwHwYDVR0jBBgwFoAU09KhvTBzjguoSpT/ctQ3e8nORtQwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAK/8q17/yRPCAe+th0F4rAv/ieTN55CuCIi8u6VlJRGLAiEA
vfvBda+XBm6/m8ppFPxviRilsiQgaMS+wUZD8/lwGQw=
-----END CERTIFICATE-----
`;

interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly user: unknown;
  readonly source: string;
}

let root: string;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "smtp-"));
  mkdirSync(join(root, "views"));
  writeFileSync(join(root, "views/note.text.edge"), "{{ text }}");
  writeFileSync(join(root, "views/note.html.edge"), "<p>{{ text }}</p>");
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(root, { recursive: true });
});

/** A real SMTP server that keeps the mails it accepts. */
async function serve(options: SMTPServerOptions = {}, port = 0): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = [];
  const server = new SMTPServer({
    key: KEY,
    cert: CERTIFICATE,
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    closeTimeout: 100,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: session.user ?? null,
          source: Buffer.concat(chunks).toString(),
        });
        done();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  closing.push(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, received };
}

interface Made {
  readonly application: Application;
  readonly lines: string[];
}

async function make(smtp: object, more: object = {}, app: object = {}): Promise<Made> {
  const lines: string[] = [];
  const application = await createApplication({
    root,
    providers: [EventProvider, ViewProvider, MailProvider],
    environment: { APP_ENV: "test" },
    logger: createLogger(
      { name: "Shop", environment: "test", log: { level: "info", requests: false } },
      { write: (line) => void lines.push(line) },
    ),
    config: {
      app: { APP: { name: "Shop", ...app } },
      mail: {
        MAIL: {
          transport: "smtp",
          from: { address: "shop@shop.example", name: "Größter Shop" },
          smtp: { host: "127.0.0.1", timeouts: { connectSeconds: 60, idleSeconds: 60 }, ...smtp },
          retry: { attempts: 4, delaySeconds: 0.05 },
          ...more,
        },
      },
    },
  });
  closing.push(() => application.shutdown());
  return { application, lines };
}

class Note extends Mailable {
  readonly #text: string;
  readonly #subject: string;

  constructor(text = "Hello", subject = "A note") {
    super();
    this.#text = text;
    this.#subject = subject;
  }

  override subject(): string {
    return this.#subject;
  }

  override content(): MailContent {
    return { text: "note.text", html: "note.html", data: { text: this.#text } };
  }
}

/** The header fields of a message or a part, unfolded (RFC 5322 §2.2.3), and its body. */
function parse(source: string): { headers: [name: string, value: string][]; body: string } {
  const end = source.indexOf("\r\n\r\n");
  const lines = source
    .slice(0, end)
    .replaceAll(/\r\n(?=[ \t])/g, "")
    .split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers, body: source.slice(end + 4) };
}

/** Decodes a header's encoded words (RFC 2047). */
function decoded(value: string): string {
  const joined = value.replaceAll(/\?=\s+=\?/g, "?==?");
  const bytes = joined.replaceAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, encoding: string, text: string) => {
    if (encoding.toLowerCase() === "b") return Buffer.from(text, "base64").toString("latin1");
    return quotedPrintable(text.replaceAll("_", " "));
  });
  return bytes === joined ? value : Buffer.from(bytes, "latin1").toString();
}

function quotedPrintable(text: string): string {
  return text
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function header(source: string, name: string): string | undefined {
  return parse(source).headers.find(([one]) => one === name)?.[1];
}

/** The parts of a multipart body, each with its type and its decoded content. */
function parts(source: string): [type: string, content: string][] {
  const { headers, body } = parse(source);
  const [, boundary] = /boundary="([^"]+)"/.exec(new Map(headers).get("content-type") ?? "") ?? [];
  const texts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => part.replace(/^\r\n|\r\n$/g, ""));
  return texts.map((text): [string, string] => {
    const part = parse(text);
    const fields = new Map(part.headers);
    const encoding = fields.get("content-transfer-encoding");
    const bytes =
      encoding === "base64" ? Buffer.from(part.body, "base64") : Buffer.from(quotedPrintable(part.body), "latin1");
    return [fields.get("content-type") ?? "", encoding === "7bit" ? part.body : bytes.toString()];
  });
}

describe("a mail", () => {
  test("arrives complete: envelope, headers, both parts, in any script", async () => {
    const { port, received } = await serve();
    const { application } = await make({ port });
    const text =
      "Grüße aus Zürich 👋\n\nÜber 76 Zeichen lange Zeilen bleiben eine: äöüß äöüß äöüß äöüß äöüß äöüß äöüß.\n.\nEnde";
    const note = new Note(
      text,
      "Größe 👟 in Ihrer Bestellung – ein ziemlich langer Betreff, der nicht in eine Zeile passt",
    ).replyTo("help@shop.example", "Hilfe");
    await application.container
      .make("mail")
      .send(note, { address: "Jörg@Shop.example".replace("ö", "oe"), name: "Jörg Müller" });
    expect(received).toHaveLength(1);
    const [{ source, ...envelope }] = received as [Received];
    expect(envelope).toEqual({ from: "shop@shop.example", to: ["joerg@shop.example"], secure: false, user: null });
    expect(decoded(header(source, "subject")!)).toBe(
      "Größe 👟 in Ihrer Bestellung – ein ziemlich langer Betreff, der nicht in eine Zeile passt",
    );
    expect(decoded(header(source, "from")!)).toBe("Größter Shop <shop@shop.example>");
    expect(decoded(header(source, "to")!)).toBe("Jörg Müller <joerg@shop.example>");
    expect(header(source, "reply-to")).toBe("Hilfe <help@shop.example>");
    expect(header(source, "message-id")).toMatch(/^<[0-9a-f-]{36}@shop\.example>$/);
    expect(header(source, "auto-submitted")).toBe("auto-generated");
    expect(header(source, "content-type")).toMatch(/^multipart\/alternative;/);
    const crlf = text.replaceAll("\n", "\r\n");
    expect(parts(source)).toEqual([
      ["text/plain; charset=utf-8", crlf],
      ["text/html; charset=utf-8", `<p>${crlf}</p>`],
    ]);
    expect(source.split("\r\n").every((line) => line.length <= 998)).toBe(true);
  });

  test("reaches all copies, and hides the blind ones", async () => {
    const { port, received } = await serve();
    const { application } = await make({ port });
    const note = new Note().to("to@shop.example").cc("cc@shop.example").bcc("blind@shop.example");
    await application.container.make("mail").send(note);
    expect(received[0]!.to).toEqual(["to@shop.example", "cc@shop.example", "blind@shop.example"]);
    expect(header(received[0]!.source, "cc")).toBe("cc@shop.example");
    expect(received[0]!.source).not.toContain("blind");
  });

  test("includes attachments, byte for byte", async () => {
    const { port, received } = await serve();
    const { application } = await make({ port });
    const content = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const note = new Note()
      .attach({ filename: "Übersicht.pdf", content })
      .attach({ filename: "/etc/passwd", content: "a" });
    await application.container.make("mail").send(note, "to@shop.example");
    const { source } = received[0]!;
    expect(header(source, "content-type")).toMatch(/^multipart\/mixed;/);
    expect(source.replaceAll("\r\n", "")).toContain(Buffer.from(content).toString("base64"));
    expect(source).toMatch(/application\/pdf/);
    // A file name is only a name: nothing is read from disk.
    expect(source).not.toContain("root:");
  });

  test("a domain in any script is sent in its ASCII form", async () => {
    const { port, received } = await serve();
    const { application } = await make({ port });
    await application.container.make("mail").send(new Note(), "jane@exämple.example");
    expect(header(received[0]!.source, "to")).toBe("jane@xn--exmple-cua.example");
  });
});

describe("headers", () => {
  test("S35 S41 no name, subject or address can add a header or a recipient", async () => {
    const { port, received } = await serve();
    const { application } = await make({ port });
    const mailer = application.container.make("mail");
    const plain = ["aé👟<>@,;:\"'()\\= ?_", "Bcc: x@evil.example", "=?utf-8?Q?=0D=0ABcc:_x?=", "<x@evil.example>"];
    const [characters = "", ...words] = plain;
    const unit = fc.constantFrom(...characters, ...words);
    const breaking = fc.string({
      unit: fc.oneof(unit, fc.constantFrom("\r\n", "\n", "\r", "\t", "\0", "\r\n\r\n")),
      maxLength: 20,
    });
    const typed = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit, maxLength: 30 }) },
      { weight: 1, arbitrary: breaking },
    );
    const subjects = typed.filter((text) => text.trim() !== "");
    const locals = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("", "b", "=?utf-8?q?x?=", "'") },
      { weight: 1, arbitrary: typed },
    );
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(subjects, typed, locals, async (subject, name, local) => {
        received.length = 0;
        try {
          await mailer.send(new Note("x", subject), { address: `a${local}@shop.example`, name });
        } catch (error) {
          expect(error).toBeInstanceOf(AshlarError);
          expect(["E_INVALID_MAIL", "E_MAIL_NOT_SENT"]).toContain((error as AshlarError).code);
          expect(received).toEqual([]);
          return;
        }
        sent++;
        const [{ source, to }] = received as [Received];
        expect(to).toHaveLength(1);
        expect(to[0]).toMatch(/^[^@]+@shop\.example$/);
        const names = parse(source).headers.map(([one]) => one);
        expect(names.toSorted()).toEqual(
          ["auto-submitted", "content-type", "date", "from", "message-id", "mime-version", "subject", "to"]
            .concat(names.includes("content-transfer-encoding") ? ["content-transfer-encoding"] : [])
            .toSorted(),
        );
        // Text that looks encoded is split, so that no client decodes it.
        expect(decoded(header(source, "subject")!).trim()).toBe(subject.replaceAll("=?", "= ?").trim());
      }),
      { numRuns: 200 },
    );
    expect(sent).toBeGreaterThan(50);
  });
});

describe("encryption", () => {
  test("a server that does not offer required encryption is refused before it learns anything", async () => {
    const learned: string[] = [];
    const { port } = await serve({
      onAuth(_, __, done) {
        learned.push("login");
        done(null, { user: "shop" });
      },
      onMailFrom(_, __, done) {
        learned.push("sender");
        done();
      },
    });
    const { application } = await make({ port, requireTls: true, user: "shop", password: "hunter2" });
    await expect(application.container.make("mail").send(new Note(), "jane@shop.example")).rejects.toMatchObject({
      code: "E_MAIL_NOT_SENT",
      status: 503,
    });
    expect(learned).toEqual([]);
  });

  test("an untrusted certificate is refused", async () => {
    for (const options of [{ disabledCommands: [] }, { secure: true }]) {
      const { port, received } = await serve(options);
      const { application } = await make({ port, secure: options.secure ?? false });
      await expect(application.container.make("mail").send(new Note(), "jane@shop.example")).rejects.toMatchObject({
        code: "E_MAIL_NOT_SENT",
        cause: expect.objectContaining({ message: expect.stringMatching(/self-signed certificate/) }),
      });
      expect(received).toEqual([]);
    }
  });

  test("with a valid certificate, the mail and the login are encrypted", async () => {
    const before = getCACertificates();
    setDefaultCACertificates([...before, CERTIFICATE]);
    closing.push(async () => setDefaultCACertificates(before));
    for (const options of [{ disabledCommands: [] }, { secure: true }]) {
      const onAuth: NonNullable<SMTPServerOptions["onAuth"]> = ({ username, password }, _, done) => {
        done(password === "hunter2" ? null : new Error("no"), { user: username ?? "" });
      };
      const { port, received } = await serve({ ...options, authOptional: false, onAuth });
      const { application } = await make({
        port,
        secure: options.secure ?? false,
        requireTls: true,
        user: "shop",
        password: "hunter2",
      });
      await application.container.make("mail").send(new Note(), "jane@shop.example");
      expect(received).toMatchObject([{ to: ["jane@shop.example"], secure: true, user: "shop" }]);
    }
  });
});

describe("S185 a server with a certificate of another authority", () => {
  const KINDS = [
    ["STARTTLS", { disabledCommands: [] }],
    ["TLS from the first byte", { secure: true }],
  ] as const;
  const send = async (smtp: object) => {
    const { application } = await make(smtp);
    await application.container.make("mail").send(new Note(), "jane@shop.example");
  };

  test.each(KINDS)("gets mails once ca names that authority: %s", async (_, options) => {
    writeFileSync(join(root, "authority.pem"), CERTIFICATE);
    const { port, received } = await serve({ ...options, disabledCommands: [] });
    const secure = "secure" in options;
    await send({ port, secure, requireTls: true, ca: "authority.pem" });
    expect(received).toMatchObject([{ to: ["jane@shop.example"], secure: true }]);
  });

  test.each(KINDS)(
    "is refused without it, with requireTls false too, and the error names ca: %s",
    async (_, options) => {
      const { port, received } = await serve({ ...options, disabledCommands: [] });
      for (const requireTls of [true, false]) {
        await expect(send({ port, secure: "secure" in options, requireTls })).rejects.toMatchObject({
          code: "E_MAIL_NOT_SENT",
          cause: expect.objectContaining({ message: expect.stringContaining("Set config/mail.ts: MAIL.smtp.ca") }),
        });
      }
      expect(received).toEqual([]);
    },
  );

  test.each(KINDS)("is refused without it, even with NODE_TLS_REJECT_UNAUTHORIZED=0: %s", async (_, options) => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    closing.push(async () => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
    const { port, received } = await serve({ ...options, disabledCommands: [] });
    await expect(send({ port, secure: "secure" in options, requireTls: true })).rejects.toMatchObject({
      code: "E_MAIL_NOT_SENT",
    });
    expect(received).toEqual([]);
  });

  test.each(KINDS)(
    "is refused if ca names a different authority, or the name doesn't match: %s",
    async (_, options) => {
      const { chain } = makeCertificate(root, "relay.example");
      writeFileSync(join(root, "authority.pem"), CERTIFICATE);
      const { port, received } = await serve({ ...options, disabledCommands: [] });
      const secure = "secure" in options;
      const problem = (text: string) => ({
        cause: expect.objectContaining({ message: expect.stringContaining(text) }),
      });
      await expect(send({ port, secure, requireTls: true, ca: chain })).rejects.toMatchObject(problem("MAIL.smtp.ca"));
      const elsewhere = { port, secure, requireTls: true, ca: "authority.pem", servername: "relay.example" };
      await expect(send(elsewhere)).rejects.toMatchObject(problem("MAIL.smtp.servername"));
      expect(received).toEqual([]);
    },
  );

  test("is reached by an address if servername is the name in its certificate", async () => {
    const { key, chain } = makeCertificate(root, "relay.example");
    const server = { key: readFileSync(key), cert: readFileSync(chain), disabledCommands: [] };
    const { port, received } = await serve(server);
    const smtp = { port, requireTls: true, ca: chain };
    await expect(send(smtp)).rejects.toMatchObject({ code: "E_MAIL_NOT_SENT" });
    await send({ ...smtp, servername: "relay.example" });
    expect(received).toHaveLength(1);
  });

  test("is not even tried with a file that has no certificate, or can't be read", async () => {
    writeFileSync(join(root, "empty.pem"), "\n");
    await expect(make({ ca: "empty.pem" })).rejects.toThrow("MAIL.smtp.ca: is a file without a certificate.");
    await expect(make({ ca: "missing.pem" })).rejects.toThrow("MAIL.smtp.ca: is a file that can't be read (ENOENT).");
  });
});

describe("S184 the author's own headers", () => {
  class News extends Note {
    override headers(): Record<string, string> {
      const link = `https://shop.example/unsubscribe/7?${"signature=".repeat(1)}${"a".repeat(300)}`;
      return { "List-Unsubscribe": `<${link}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
    }
  }

  test("arrive as they were written, however long, through the outbox's memory and SMTP", async () => {
    const { port, received } = await serve();
    const { application } = await make({ port });
    const mailer = application.container.make("mail");
    await mailer.queue(new News().header("X-PM-Tag", "first").header("x-pm-tag", "news"), "jane@shop.example");
    await mailer.settled();
    const { source } = received[0]!;
    expect(source).toContain(`List-Unsubscribe: <https://shop.example/unsubscribe/7?signature=${"a".repeat(300)}>\r\n`);
    expect(header(source, "list-unsubscribe-post")).toBe("List-Unsubscribe=One-Click");
    expect(parse(source).headers.filter(([name]) => name === "x-pm-tag")).toEqual([["x-pm-tag", "news"]]);
  });

  test("can't replace the mailer's, and can't contain or add another", () => {
    const owned = ["From", "to", "CC", "Bcc", "Subject", "Sender", "Reply-To", "Date", "Message-ID", "Return-Path"];
    const groups = ["DKIM-Signature", "ARC-Seal", "Content-Type", "MIME-Version", "Resent-From", "Received"];
    for (const name of [...owned, ...groups]) {
      expect(() => new Note().header(name, "x"), name).toThrow(expect.objectContaining({ code: "E_INVALID_MAIL" }));
    }
    for (const name of ["", "X:", "X Y", "X\r\nBcc", "-X", "X_Y", "Bcc ", "\u212aX", "X".repeat(77)]) {
      expect(() => new Note().header(name, "x"), name).toThrow(expect.objectContaining({ code: "E_INVALID_MAIL" }));
    }
    for (const value of [
      "",
      " ",
      "a\r\nBcc: x@evil.example",
      "a\nb",
      "a\rb",
      "a\0",
      "ä",
      " a",
      "a ",
      "a".repeat(901),
    ]) {
      expect(() => new Note().header("X-Tag", value), JSON.stringify(value)).toThrow(
        expect.objectContaining({ code: "E_INVALID_MAIL" }),
      );
    }
  });

  test("of headers() are checked when the mail is composed, and nothing is sent", async () => {
    class Forged extends Note {
      override headers(): Record<string, string> {
        return { "X-Tag": "a\r\nBcc: x@evil.example" };
      }
    }
    const { port, received } = await serve();
    const { application } = await make({ port });
    const sending = application.container.make("mail").send(new Forged(), "jane@shop.example");
    await expect(sending).rejects.toMatchObject({ code: "E_INVALID_MAIL" });
    expect(received).toEqual([]);
  });
});

describe("a server that does not accept a mail", () => {
  test("a mail sent directly fails at once, and the caller does not see the server's message", async () => {
    const { port } = await serve({
      onRcptTo: (_, __, done) => done(Object.assign(new Error("nobody"), { responseCode: 550 })),
    });
    const { application } = await make({ port });
    const events = application.container.make("events");
    const failed: unknown[] = [];
    events.on("mail.failed", (event) => void failed.push(event));
    await expect(application.container.make("mail").send(new Note(), "jane@shop.example")).rejects.toMatchObject({
      code: "E_MAIL_NOT_SENT",
      message: "The mail could not be sent; try again in a moment.",
    });
    await events.settled();
    expect(failed).toEqual([
      {
        time: expect.any(Date),
        mailable: "Note",
        recipients: ["jane@shop.example"],
        reason: expect.stringContaining("550"),
      },
    ]);
  });

  test("a queued mail that is permanently refused is not retried, and logged without its content", async () => {
    let tries = 0;
    const { port } = await serve({
      onRcptTo(_, __, done) {
        tries++;
        done(Object.assign(new Error("nobody"), { responseCode: 550 }));
      },
    });
    const { application, lines } = await make({ port });
    const failed: unknown[] = [];
    application.container.make("events").on("mail.failed", (event) => void failed.push(event));
    const mailer = application.container.make("mail");
    mailer.queue(new Note("https://shop.example/reset?token=secret", "Your code is 123456"), "jane@shop.example");
    await mailer.settled();
    expect(tries).toBe(1);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: "error",
      mailable: "Note",
      recipients: ["j…@shop.example"],
      attempts: 1,
      msg: "A mail could not be sent.",
      reason: expect.stringContaining("550"),
    });
    expect(lines.join()).not.toMatch(/secret|123456/);
    expect(failed).toEqual([
      {
        time: expect.any(Date),
        mailable: "Note",
        recipients: ["jane@shop.example"],
        reason: expect.stringContaining("550"),
      },
    ]);
  });

  test("a refused login is tried again, and reported each time without the server's message, and the password appears nowhere", async () => {
    const onAuth: NonNullable<SMTPServerOptions["onAuth"]> = ({ password }, _, done) =>
      done(new Error(`not ${password}`));
    const { port } = await serve({
      authOptional: false,
      allowInsecureAuth: true,
      disabledCommands: ["STARTTLS"],
      onAuth,
    });
    const { application, lines } = await make({ port, user: "shop", password: "hunter2" });
    const mailer = application.container.make("mail");
    mailer.queue(new Note(), "jane@shop.example");
    await mailer.settled();
    const told = lines.map((line) => JSON.parse(line));
    expect(told.map(({ level }) => level)).toEqual(["warn", "warn", "warn", "error"]);
    expect(new Set(told.map(({ reason }) => reason))).toEqual(
      new Set(["The SMTP server refused the login (535). Check user and password."]),
    );
    const error = await mailer.send(new Note(), "jane@shop.example").catch((reason: unknown) => reason);
    expect(`${lines.join()}${String(error)}${(error as Error).stack}${String((error as Error).cause)}`).not.toContain(
      "hunter2",
    );
  });

  test("one refused recipient does not affect the other", async () => {
    const { port, received } = await serve({
      onRcptTo: ({ address }, _, done) =>
        done(address.startsWith("bad") ? Object.assign(new Error("no"), { responseCode: 550 }) : null),
    });
    const { application, lines } = await make({ port });
    const sent: (readonly string[])[] = [];
    application.container.make("events").on("mail.sent", ({ recipients }) => void sent.push(recipients));
    await application.container.make("mail").send(new Note(), ["good@shop.example", "bad@shop.example"]);
    await application.container.make("events").settled();
    expect(received.map(({ to }) => to)).toEqual([["good@shop.example"]]);
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: "warn", recipients: ["b…@shop.example"] });
    expect(sent).toEqual([["good@shop.example"]]);
  });

  test("a server that comes back up gets the mails queued in the meantime", async () => {
    const port = await freePort();
    const { application, lines } = await make({ port }, { retry: { attempts: 100, delaySeconds: 0.05 } });
    const mailer = application.container.make("mail");
    for (let number = 0; number < 5; number++) mailer.queue(new Note(`number ${number}`), "jane@shop.example");
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(5);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: "warn",
      msg: "A mail could not be sent yet.",
      retryInSeconds: 0.05,
    });
    const { received } = await serve({}, port);
    await mailer.settled();
    expect(received.map(({ source }) => parts(source)[0]![1]).toSorted()).toEqual(
      Array.from({ length: 5 }, (_, number) => `number ${number}`),
    );
  });

  test("the pauses between attempts double, up to a minute", async () => {
    const { application, lines } = await make({ port: await freePort() }, { retry: { attempts: 5, delaySeconds: 20 } });
    const { setTimeout: later } = globalThis;
    const skipped = vi.spyOn(globalThis, "setTimeout").mockImplementation(((task: () => void, ms?: number) =>
      // Shorter timers are connection timeouts.
      later(task, ms !== undefined && ms >= 20_000 ? 0 : ms)) as typeof setTimeout);
    const mailer = application.container.make("mail");
    mailer.queue(new Note(), "jane@shop.example");
    await mailer.settled();
    skipped.mockRestore();
    const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === "warn");
    expect(told.map(({ retryInSeconds }) => retryInSeconds)).toEqual([20, 40, 60, 60]);
  });

  test("after a temporary error, the same mail is sent again, with the same Message-ID", async () => {
    const ids: string[] = [];
    const { port } = await serve({
      onData(stream, _, done) {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          ids.push(header(Buffer.concat(chunks).toString(), "message-id")!);
          done(ids.length < 3 ? Object.assign(new Error("later"), { responseCode: 451 }) : null);
        });
      },
    });
    const { application } = await make({ port });
    const mailer = application.container.make("mail");
    mailer.queue(new Note(), "jane@shop.example");
    await mailer.settled();
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
  });

  test("a mail is abandoned after the last attempt", async () => {
    const { application, lines } = await make({ port: await freePort() });
    const mailer = application.container.make("mail");
    mailer.queue(new Note(), "jane@shop.example");
    await mailer.settled();
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(["warn", "warn", "warn", "error"]);
    expect(lines.slice(0, 3).map((line) => JSON.parse(line).retryInSeconds)).toEqual([0.05, 0.1, 0.2]);
    expect(JSON.parse(lines[3]!)).toMatchObject({ attempts: 4, reason: expect.stringContaining("ECONNREFUSED") });
  });
});

test("as many mails are sent at once as the pool has connections", async () => {
  const waiting: (() => void)[] = [];
  const { port, received } = await serve({ onMailFrom: (_, __, done) => void waiting.push(done) });
  const { application } = await make({ port, poolSize: 7 });
  const mailer = application.container.make("mail");
  for (let number = 0; number < 7; number++) mailer.queue(new Note(), "jane@shop.example");
  await expect.poll(() => waiting.length).toBe(7);
  for (const answer of waiting) answer();
  await mailer.settled();
  expect(received).toHaveLength(7);
});

describe("shutting down", () => {
  test("fifty queued mails are sent first, over no more connections than the pool has", async () => {
    let [connections, most] = [0, 0];
    const { port, received } = await serve({
      onConnect(_, done) {
        most = Math.max(most, ++connections);
        setTimeout(done, 5);
      },
      onClose: () => void connections--,
    });
    // Enough time to send all of them on a busy machine.
    const { application, lines } = await make({ port, poolSize: 3 }, {}, { server: { shutdownTimeoutSeconds: 3000 } });
    const mailer = application.container.make("mail");
    for (let number = 0; number < 50; number++) mailer.queue(new Note(`number ${number}`), "jane@shop.example");
    await application.shutdown();
    expect(received.map(({ source }) => parts(source)[0]![1]).toSorted()).toEqual(
      Array.from({ length: 50 }, (_, number) => `number ${number}`).toSorted(),
    );
    expect(most).toBeLessThanOrEqual(3);
    expect(lines).toEqual([]);
  });

  test("a mail that is being sent is finished", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<() => void>();
    const { port, received } = await serve({ onMailFrom: (_, __, done) => resolve(done) });
    const { application } = await make({ port });
    const mailer = application.container.make("mail");
    const sending = mailer.send(new Note(), "jane@shop.example");
    const answer = await asked;
    const stopped = application.shutdown();
    // A new mail is refused: the mailer has started to close.
    await expect.poll(() => mailer.send(new Note()).catch(({ code }) => code)).toBe("E_SHUTTING_DOWN");
    answer();
    await Promise.all([sending, stopped]);
    expect(received).toHaveLength(1);
  });

  test("ends in time if the server does not respond, and logs lost mails without their content", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { port } = await serve({ onMailFrom: () => resolve() });
    const { application, lines } = await make({ port, poolSize: 2 });
    const mailer = application.container.make("mail");
    for (let number = 0; number < 5; number++) mailer.queue(new Note("secret", "secret"), `jane${number}@shop.example`);
    const sending = mailer.send(new Note(), "joe@shop.example").catch((error: AshlarError) => error.code);
    await asked;
    // With a real clock, a busy machine might use up the time for the log.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    closing.push(async () => void vi.useRealTimers());
    let hasStopped = false;
    const stopped = application.shutdown().then(() => (hasStopped = true));
    // The idle timeout is a minute.
    for (let seconds = 0; seconds < 30 && !hasStopped; seconds++) {
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      await vi.advanceTimersByTimeAsync(1000);
    }
    await stopped;
    const told = lines.map((line) => JSON.parse(line));
    expect(told.pop()).toMatchObject({ level: "error", cutOff: { mails: 5 } });
    expect(told.map(({ level, msg, reason }) => [level, msg, reason])).toEqual(
      Array(5).fill(["error", "The mail was lost.", "The application was shut down."]),
    );
    expect(told.flatMap(({ recipients }) => recipients)).toEqual(Array(5).fill("j…@shop.example"));
    expect(lines.join()).not.toContain("secret");
    expect(await sending).toBe("E_MAIL_NOT_SENT");
  });

  test.each([
    [30, 29],
    [1, 0.8],
  ])("of the %d s it may take, %d s are for mails, which leaves time to log lost ones", async (limit, seconds) => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { port } = await serve({ onMailFrom: () => resolve() });
    const { application, lines } = await make({ port }, {}, { server: { shutdownTimeoutSeconds: limit } });
    const mailer = application.container.make("mail");
    mailer.queue(new Note(), "jane@shop.example");
    await asked;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    closing.push(async () => void vi.useRealTimers());
    const stopped = application.shutdown();
    const refused = () => mailer.send(new Note()).catch(({ code }) => code);
    while ((await refused()) !== "E_SHUTTING_DOWN") await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(seconds * 1000 - 1);
    expect(lines).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await stopped;
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      "The mail was lost.",
      expect.stringMatching(/^The shutdown could not finish everything in .* It cut off: 1 mail\.$/),
    ]);
  });

  test("mails are refused afterwards", async () => {
    const { port } = await serve();
    const { application } = await make({ port });
    const mailer = application.container.make("mail");
    await application.shutdown();
    const refused = expect.objectContaining({ code: "E_SHUTTING_DOWN" });
    expect(() => mailer.queue(new Note(), "jane@shop.example")).toThrow(refused);
    await expect(mailer.send(new Note(), "jane@shop.example")).rejects.toThrow(refused);
  });
});
