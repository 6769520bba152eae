import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mailMessage } from "../../../test/support/mail-message.ts";
import type { MailMessage } from "./mail-message.ts";
import { mimeOptions, mimeSource } from "./mime.ts";

const message = (parts: Partial<MailMessage> = {}): MailMessage =>
  mailMessage({ from: { address: "shop@shop.example", name: "Shop" }, ...parts });

describe("the source of a mail", () => {
  test("a text-only mail is one part, with exactly these headers", async () => {
    expect(await mimeSource(message())).toBe(
      [
        "Auto-Submitted: auto-generated",
        "From: Shop <shop@shop.example>",
        "To: jane@shop.example",
        "Subject: A note",
        "Message-ID: <1@shop.example>",
        "Date: Sun, 01 Mar 2026 12:00:00 +0000",
        "Content-Transfer-Encoding: 7bit",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "",
        "Hello",
        "",
      ].join("\r\n"),
    );
  });

  test("the author's fields keep their values; their names get a capital after each hyphen", async () => {
    const headers = [
      { name: "X-PM-Tag", value: "newsletter" },
      { name: "list-unsubscribe", value: "<https://shop.example/u>" },
    ];
    const source = await mimeSource(message({ headers }));
    expect(source).toContain("\r\nX-Pm-Tag: newsletter\r\n");
    expect(source).toContain("\r\nList-Unsubscribe: <https://shop.example/u>\r\n");
    expect(source).toContain("\r\nMessage-ID: <1@shop.example>\r\n");
  });

  test("blind copies are left out", async () => {
    expect(await mimeSource(message({ bcc: [{ address: "blind@shop.example", name: "Blind" }] }))).not.toMatch(
      /blind/i,
    );
  });

  test("a mail with only blind copies has a source too", async () => {
    const source = await mimeSource(message({ to: [], bcc: [{ address: "blind@shop.example", name: null }] }));
    expect(source).toContain("Subject: A note");
    expect(source).not.toMatch(/^To:/m);
  });

  test("S35 a name that looks like addresses is quoted, and stays a name", async () => {
    const to = [{ address: "jane@shop.example", name: '"joe@evil.example" <joe@evil.example>, x' }];
    const [line] = /^To: .*(?:\r\n[ \t].*)*/m.exec(await mimeSource(message({ to })))!;
    expect(line).toBe('To: "\\"joe@evil.example\\" <joe@evil.example>, x" <jane@shop.example>');
  });

  test("S35 S41 text that looks encoded is never decoded into a header", async () => {
    const word = "=?utf-8?Q?=0D=0ABcc:_joe@evil.example?=";
    const attachments = [{ filename: `${word}.txt`, content: "" }];
    const source = await mimeSource(
      message({ subject: word, to: [{ address: "jane@shop.example", name: word }], attachments }),
    );
    expect(source).toContain("Subject: = ?utf-8?Q?=0D=0ABcc:_joe@evil.example?=\r\n");
    expect(source.replaceAll("\r\n ", "")).not.toContain("=?utf-8");
    expect(source.replace(/;\r\n filename\*1\*=/, "")).toContain(`filename*0*=utf-8''${encodeURIComponent(word)}.txt`);
  });

  test("nothing is read from disk or fetched, whatever the content looks like", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mime-"));
    const file = join(folder, "secret.txt");
    writeFileSync(file, "top secret");
    const attachments = [
      { filename: file, content: file },
      { filename: "a", content: "https://shop.example/" },
    ];
    const source = await mimeSource(message({ text: file, html: `<img src="${file}">`, attachments }));
    rmSync(folder, { recursive: true });
    expect(source).not.toContain("top secret");
    expect(source).not.toContain(Buffer.from("top secret").toString("base64"));
    expect(mimeOptions(message())).toMatchObject({ disableFileAccess: true, disableUrlAccess: true });
  });

  test("the same mail has the same source each time, except for the boundary", async () => {
    const mail = message({ html: "<p>Hello</p>" });
    const plain = (source: string) => source.replaceAll(/_NmP-[0-9a-f]+/g, "boundary");
    expect(plain(await mimeSource(mail))).toBe(plain(await mimeSource(mail)));
  });
});
