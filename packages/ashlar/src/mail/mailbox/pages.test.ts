import { describe, expect, test } from "vitest";
import { mailMessage } from "../../../test/support/mail-message.ts";
import { framed, listPage, mailPage, previewsPage, problemPage } from "./pages.ts";

const MESSAGE = mailMessage({
  subject: "  ",
  html: "<p>Hello</p>",
  attachments: [{ filename: "a.txt", content: "äö" }],
});

const PAGES: readonly (readonly [string, string])[] = [
  ["the empty list", listPage([], true, "/dev/mailbox")],
  ["the list", listPage([{ id: "1", message: MESSAGE }], true, "/dev/mailbox")],
  ["the list if mails are sent elsewhere", listPage([], false, "/dev/mailbox")],
  ["a mail", mailPage(MESSAGE, "/dev/mailbox/1", { section: "mailbox", prefix: "/dev/mailbox" })],
  [
    "the previews",
    previewsPage(
      {
        previews: [{ name: "Note", make: () => Promise.reject() }],
        problems: [{ file: "x.ts", problem: "<b>" }],
      },
      "/dev/mailbox",
    ),
  ],
  ["a problem", problemPage("Not found", "This mail does not exist.", { section: "preview", prefix: "/dev/mailbox" })],
];

test("a page's title names the page and the mailbox, each once", () => {
  const titles = PAGES.map(([, page]) => /<title>(.+)<\/title>/.exec(page)?.[1]);
  expect(titles.slice(0, 3)).toEqual(Array(3).fill("Mails · Mailbox"));
  expect(titles).not.toContain("Mailbox · Mailbox");
});

describe("each page", () => {
  test.each(PAGES)(
    "%s is a complete document with a language, a title, one first-level heading, and one landmark of each kind",
    (_, page) => {
      expect(page).toMatch(/^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n/);
      expect(page).toMatch(/<title>[^<]+ · Mailbox<\/title>/);
      expect(page).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
      for (const tag of ["<h1>", "<main>", "<header>", '<nav aria-label="Mailbox">', "</html>"]) {
        expect(page.split(tag)).toHaveLength(2);
      }
      expect(page).not.toMatch(/undefined|\[object|NaN/);
      for (const frame of page.match(/<iframe[^>]*>/g) ?? []) expect(frame).toMatch(/ title="[^"]+"/);
    },
  );

  test.each(PAGES)("%s opens and closes its elements in order", (_, page) => {
    const open: string[] = [];
    const text = page.replace(/<style>[\s\S]*<\/style>/, "").replace("<!doctype html>", "");
    for (const [, slash, name] of text.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/g)) {
      if (name === "meta") continue;
      if (slash === "") open.push(name!);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });

  test.each(PAGES)("%s marks the current page in its navigation", (_, page) => {
    expect(page.match(/aria-current="true"/g)).toHaveLength(1);
  });

  test("the colors follow the reader's scheme, and have enough contrast in both", () => {
    const page = listPage([], true, "/dev/mailbox");
    const palettes = [
      ...page.matchAll(/--ink:(#\w+);--soft:(#\w+);--paper:(#\w+);--card:(#\w+);--line:#\w+;--mark:(#\w+)/g),
    ];
    expect(palettes).toHaveLength(2);
    for (const [, ink, soft, paper, card, mark] of palettes) {
      for (const text of [ink!, soft!, mark!]) {
        for (const ground of [paper!, card!]) expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });
});

describe("details", () => {
  test("a mail without a subject still has a link", () => {
    expect(listPage([{ id: "7", message: MESSAGE }], true, "/dev/mailbox")).toContain(
      '<a href="/dev/mailbox/7">(no subject)</a>',
    );
  });

  test("an attachment's size is in bytes", () => {
    expect(mailPage(MESSAGE, "/dev/mailbox/1", { section: "mailbox", prefix: "/dev/mailbox" })).toContain(
      'a.txt</a> <span class="soft">4 bytes</span>',
    );
  });

  test.each([
    ["<p>x</p>", '<base target="_blank"><p>x</p>'],
    [
      "<!doctype html><html><head><title>x</title></head></html>",
      '<!doctype html><html><head><base target="_blank"><title>x</title></head></html>',
    ],
    ['<HEAD lang="en">\n</HEAD>', '<HEAD lang="en"><base target="_blank">\n</HEAD>'],
    ["<header>x</header>", '<base target="_blank"><header>x</header>'],
    ["", '<base target="_blank">'],
  ])("the links of %j open in a new window", (mail, shown) => {
    expect(framed(mail)).toBe(shown);
  });
});

/** The contrast of two colors (WCAG 2.2, contrast ratio). */
function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const hex = color.length === 4 ? color.slice(1).replaceAll(/./g, "$&$&") : color.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
