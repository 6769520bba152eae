import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Application, createApplication } from "../../boot/index.ts";
import { generateSecret } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { Mailable, type MailContent, MailProvider, printMails } from "../index.ts";

let root: string;
let application: Application;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "mailbox-"));
  mkdirSync(join(root, "views"));
  mkdirSync(join(root, "app/mailables"), { recursive: true });
  writeFileSync(join(root, "views/note.text.edge"), "{{ text }}");
  writeFileSync(
    join(root, "views/note.html.edge"),
    "<html><head><title>x</title></head><body><p>{{ text }}</p></body></html>",
  );
  setClock(() => Date.UTC(2026, 2, 1, 12, 30));
  application = await create();
});

afterEach(async () => {
  setClock(null);
  await application.shutdown();
  rmSync(root, { recursive: true });
});

function create(mail: object = {}): Promise<Application> {
  return createApplication({
    root,
    providers: [ViewProvider, MailProvider],
    environment: { APP_ENV: "development", APP_KEY: generateSecret(), APP_URL: "http://localhost:3000" },
    config: { app: { APP: { name: "Shop", log: { level: "silent" } } }, mail: { MAIL: mail } },
  });
}

class Note extends Mailable {
  readonly #subject: string;
  readonly #text: string;
  readonly #hasHtml: boolean;

  constructor(subject = "A note", text = "Hello", hasHtml = true) {
    super();
    this.#subject = subject;
    this.#text = text;
    this.#hasHtml = hasHtml;
  }

  override subject(): string {
    return this.#subject;
  }

  override content(): MailContent {
    return { text: "note.text", ...(this.#hasHtml ? { html: "note.html" } : {}), data: { text: this.#text } };
  }
}

function request(path: string, method = "GET"): Promise<Response> {
  return Promise.resolve(application.fetch(new Request(`http://localhost:3000${path}`, { method })));
}

async function get(path: string): Promise<[status: number, body: string]> {
  const response = await request(path);
  return [response.status, await response.text()];
}

function send(mailable: Mailable, to = "jane@shop.example"): Promise<void> {
  return application.container.make("mail").send(mailable, to);
}

/** A page's markup without its styles. */
function bare(page: string): string {
  return page.replace(/<style>[\s\S]*<\/style>/, "");
}

describe("/dev/mailbox.json", () => {
  test("with and without mails, the page says once when the mailbox is emptied", async () => {
    const count = async () => (await get("/dev/mailbox"))[1].split("The mailbox is emptied").length - 1;
    const before = await count();
    await send(new Note("First"));
    expect([before, await count()]).toEqual([1, 1]);
  });

  test("it lists the mails, newest first, with exactly these properties", async () => {
    await send(new Note("First", "one").cc("c@shop.example"));
    await application.container
      .make("mail")
      .send(new Note("Second", "two", false), ["jane@shop.example", { address: "joe@shop.example", name: "Joe" }]);
    const response = await request("/dev/mailbox.json");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual([
      {
        to: "jane@shop.example, joe@shop.example",
        from: "no-reply@localhost",
        subject: "Second",
        text: "two",
        html: null,
        at: "2026-03-01T12:30:00.000Z",
      },
      {
        to: "jane@shop.example",
        from: "no-reply@localhost",
        subject: "First",
        text: "one",
        html: "<html><head><title>x</title></head><body><p>one</p></body></html>",
        at: "2026-03-01T12:30:00.000Z",
      },
    ]);
  });

  test("it is empty before the first mail", async () => {
    expect(await get("/dev/mailbox.json")).toEqual([200, "[]"]);
  });

  test("a queued mail appears once it was sent", async () => {
    application.container.make("mail").queue(new Note(), "jane@shop.example");
    await application.container.make("mail").settled();
    expect(JSON.parse((await get("/dev/mailbox.json"))[1])).toHaveLength(1);
  });
});

describe("/dev/mailbox", () => {
  test("it says if there are no mails yet", async () => {
    const [status, page] = await get("/dev/mailbox");
    expect(status).toBe(200);
    expect(page).toContain("No mail yet.");
  });

  test("it lists the mails, newest first, each with its page", async () => {
    await send(new Note("First"));
    await send(new Note("Second"));
    const [, page] = await get("/dev/mailbox/");
    expect(
      [...page.matchAll(/<a href="(\/dev\/mailbox\/\d+)">([^<]*)</g)].map(([, path, text]) => [path, text]),
    ).toEqual([
      ["/dev/mailbox/2", "Second"],
      ["/dev/mailbox/1", "First"],
    ]);
  });

  test("only the latest 200 are kept", async () => {
    for (let number = 1; number <= 203; number++) await send(new Note(`number ${number}`, "x", false));
    const mails = JSON.parse((await get("/dev/mailbox.json"))[1]) as { subject: string }[];
    expect([mails.length, mails[0]!.subject, mails.at(-1)!.subject]).toEqual([200, "number 203", "number 4"]);
    expect((await get("/dev/mailbox/3"))[0]).toBe(404);
    expect((await get("/dev/mailbox/203"))[0]).toBe(200);
  });

  test("if mails are sent elsewhere, the page says so and the previews still work", async () => {
    await application.shutdown();
    application = await create({ transport: "smtp", smtp: { host: "localhost" } });
    expect((await get("/dev/mailbox"))[1]).toContain("Mails are not kept here");
    expect(await get("/dev/mailbox.json")).toEqual([200, "[]"]);
    expect((await get("/dev/mailbox/1"))[0]).toBe(404);
    expect((await get("/dev/mailbox/preview"))[0]).toBe(200);
  });
});

describe("a mail's page", () => {
  test("it shows addresses, subject and time, the text with its links, and the HTML in a sandboxed frame", async () => {
    const note = new Note("Größe 👟", "See http://localhost:3000/verify?a=1&b=2.")
      .cc("c@shop.example", "Cé")
      .bcc("b@shop.example")
      .replyTo("r@shop.example");
    await send(note);
    const [status, page] = await get("/dev/mailbox/1");
    expect(status).toBe(200);
    expect(page).toContain("<h1>Größe 👟</h1>");
    expect(page).toContain("<dt>From</dt><dd>Shop &lt;no-reply@localhost&gt;</dd>");
    expect(page).toContain("<dt>To</dt><dd>jane@shop.example</dd>");
    expect(page).toContain("<dt>Cc</dt><dd>Cé &lt;c@shop.example&gt;</dd>");
    expect(page).toContain("<dt>Bcc</dt><dd>b@shop.example</dd>");
    expect(page).toContain("<dt>Reply to</dt><dd>r@shop.example</dd>");
    expect(page).toContain('<time datetime="2026-03-01T12:30:00.000Z">2026-03-01 12:30:00 UTC</time>');
    expect(page).toContain(
      '<pre>See <a href="http://localhost:3000/verify?a=1&amp;b=2">http://localhost:3000/verify?a=1&amp;b=2</a>.</pre>',
    );
    expect(page).toContain(
      '<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" src="/dev/mailbox/1/html" title="The mail as HTML"></iframe>',
    );
  });

  test("its parts have their own pages: HTML, text, source", async () => {
    await send(new Note("Größe", "Grüße <b>"));
    expect(await get("/dev/mailbox/1/html")).toEqual([
      200,
      '<html><head><base target="_blank"><title>x</title></head><body><p>Grüße &lt;b&gt;</p></body></html>',
    ]);
    expect(await get("/dev/mailbox/1/text")).toEqual([200, "Grüße <b>"]);
    const [status, source] = await get("/dev/mailbox/1/source");
    expect(status).toBe(200);
    expect(source).toMatch(
      /^Auto-Submitted: auto-generated\r\nFrom: Shop <no-reply@localhost>\r\nTo: jane@shop\.example\r\nSubject: =\?UTF-8\?Q\?Gr=C3=B6=C3=9Fe\?=\r\n/,
    );
    expect(source).toContain("Date: Sun, 01 Mar 2026 12:30:00 +0000");
    expect(source).toContain("Content-Type: multipart/alternative;");
    expect((await request("/dev/mailbox/1/source")).headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect((await request("/dev/mailbox/1/text")).headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  test("a text-only mail has no frame and no HTML", async () => {
    await send(new Note("A note", "Hello", false));
    expect((await get("/dev/mailbox/1"))[1]).not.toContain("<iframe");
    expect((await get("/dev/mailbox/1/html"))[0]).toBe(404);
  });

  test("all attachments are downloads", async () => {
    const attachment = { filename: "Überblick's.html", content: "<script>alert(1)</script>", contentType: "text/html" };
    await send(new Note().attach(attachment));
    expect((await get("/dev/mailbox/1"))[1]).toContain(
      '<a href="/dev/mailbox/1/attachments/0">Überblick&#39;s.html</a>',
    );
    for (const index of ["0x0", "0e0", "-0", "+0", "%200", "0.0", "00000"]) {
      expect([index, (await get(`/dev/mailbox/1/attachments/${index}`))[0]]).toEqual([index, 404]);
    }
    const response = await request("/dev/mailbox/1/attachments/0");
    expect(await response.text()).toBe(attachment.content);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''%C3%9Cberblick%27s.html");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test.each([
    "/0",
    "/2",
    "/x",
    "/1/x",
    "/1/html/x",
    "/1/attachments",
    "/1/attachments/0",
    "/1/attachments/x",
    "/constructor",
    "/%2e%2e",
    "//1",
    "/preview/Nope",
  ])("there is nothing at %s", async (path) => {
    await send(new Note());
    expect((await get(`/dev/mailbox${path}`))[0]).toBe(404);
  });

  test("S28 methods other than GET and HEAD are refused", async () => {
    for (const path of ["/dev/mailbox", "/dev/mailbox.json", "/dev/mailbox/1"]) {
      for (const method of ["POST", "PUT", "DELETE"]) {
        const response = await request(path, method);
        expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      }
    }
    const head = await request("/dev/mailbox", "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });
});

describe("security", () => {
  test("S41 user input is escaped on every page", async () => {
    const attack = `<img src=x onerror=alert(1)>"'`;
    await send(new Note(attack, attack).cc("c@shop.example", attack).attach({ filename: attack, content: "" }));
    for (const path of ["/dev/mailbox", "/dev/mailbox/1", "/dev/mailbox/1/html"]) {
      expect((await get(path))[1]).not.toContain("<img");
    }
  });

  test("S49 the pages allow their own style by its digest, no scripts, and no frame except the mail's", async () => {
    await send(new Note());
    for (const path of ["/dev/mailbox", "/dev/mailbox/1", "/dev/mailbox/preview", "/dev/mailbox/9"]) {
      const response = await request(path);
      const page = await response.text();
      const [, style] = /<style>([\s\S]*)<\/style>/.exec(page)!;
      const hash = createHash("sha256").update(style!).digest("base64");
      expect(response.headers.get("content-security-policy")).toBe(
        `default-src 'none'; style-src 'sha256-${hash}'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      );
      expect(bare(page)).not.toMatch(/<script|<style|\son\w+=|\sstyle=/i);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin-allow-popups",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
      });
    }
  });

  test("a mail's HTML can't run scripts, whether framed or opened directly", async () => {
    await send(new Note());
    expect((await request("/dev/mailbox/1/html")).headers.get("content-security-policy")).toBe(
      "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https:; font-src data: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    );
  });
});

describe("previews", () => {
  function write(name: string, text: string): void {
    writeFileSync(join(root, "app/mailables", name), text);
  }

  const mailable = (name: string, more = "") => `
    import { Mailable } from ${JSON.stringify(join(import.meta.dirname, "../index.ts"))};
    export class ${name} extends Mailable {
      static preview() { return new ${name}(); }
      subject() { return "Sample of ${name}"; }
      content() { return { text: "note.text", html: "note.html", data: { text: "sample" } }; }
      ${more}
    }
    export const nothing = 1;
  `;

  test("the classes with a preview are listed by name, and each is shown with its parts", async () => {
    write("welcome.ts", mailable("Welcome"));
    write("goodbye.js", mailable("Goodbye"));
    write("plain.ts", "export class Plain {}");
    write("welcome.test.ts", "throw new Error('not to be loaded');");
    write("types.d.ts", "export declare const x: 1;");
    const [, list] = await get("/dev/mailbox/preview");
    expect([...list.matchAll(/href="(\/dev\/mailbox\/preview\/\w+)"/g)].map(([, path]) => path)).toEqual([
      "/dev/mailbox/preview/Goodbye",
      "/dev/mailbox/preview/Welcome",
    ]);
    expect(list).not.toContain("could not be loaded");
    const [status, page] = await get("/dev/mailbox/preview/Welcome");
    expect(status).toBe(200);
    expect(page).toContain("<h1>Sample of Welcome</h1>");
    expect(page).toContain('src="/dev/mailbox/preview/Welcome/html"');
    expect((await get("/dev/mailbox/preview/Welcome/html"))[1]).toContain("<p>sample</p>");
    expect(await get("/dev/mailbox/preview/Welcome/text")).toEqual([200, "sample"]);
    expect((await get("/dev/mailbox/preview/Welcome/source"))[1]).toContain("To: reader@example.com");
    expect(await get("/dev/mailbox.json")).toEqual([200, "[]"]);
  });

  test("a file that cannot be loaded and a failing preview are reported without affecting others", async () => {
    write("broken.ts", "throw new Error('broken <b>');");
    write("welcome.ts", mailable("Welcome"));
    write(
      "failing.ts",
      mailable("Failing", "content() { return { text: 'nope' }; }").replace(
        'content() { return { text: "note.text"',
        'old() { return { text: "note.text"',
      ),
    );
    const [status, list] = await get("/dev/mailbox/preview");
    expect(status).toBe(200);
    expect(list).toContain("app/mailables/broken.ts could not be loaded");
    expect(list).toContain("broken &lt;b&gt;");
    expect(list).toContain("/dev/mailbox/preview/Welcome");
    const [failed, page] = await get("/dev/mailbox/preview/Failing");
    expect(failed).toBe(500);
    expect(page).toContain("There is no view &quot;nope&quot;");
  });

  test("an application without mailables has no previews", async () => {
    rmSync(join(root, "app"), { recursive: true });
    expect((await get("/dev/mailbox/preview"))[1]).toContain("No class in app/mailables has a static preview()");
  });
});

test("mails that a command prints cannot control the terminal", async () => {
  const lines: string[] = [];
  printMails(application.container, (line) => lines.push(line));
  await application.container
    .make("mail")
    .send(new Note("A note", "\u001b[31mred\u0007\u009b2J\ttabbed"), "ann@shop.example");
  expect(lines.join("\n")).toContain("[31mred2J\ttabbed");
  expect(lines.join("")).not.toMatch(/[^\P{Cc}\t]/u);
});
