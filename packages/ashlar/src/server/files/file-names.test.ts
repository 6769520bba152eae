import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StaticFiles } from "../../kernel/dispatch/route-choice.ts";
import { staticFiles } from "./static-files.ts";

const root = mkdtempSync(join(tmpdir(), "ashlar-names-"));
const folder = join(root, "public");

/** File names, each with a character that has a special meaning in URLs. */
const NAMES = [
  ...["a b.txt", "C#.txt", "what?.txt", "a&b=c.txt", "a+b.txt", "100%.txt", "%41.txt", "a%2fb.txt", "a%20b.txt"],
  ...["it's.txt", "a(1).txt", "[x].txt", "{x}.txt", "a@b,c;d:e$.txt", "a!*~.txt", "a|b^c`d.txt", '"q".txt', "<x>.txt"],
  ...["b\u00fccher.txt", "bu\u0308cher-nfd.txt", "\u00e9t\u00e9/cr\u00e8me.txt", "e\u0301te\u0301-nfd/cre\u0300me.txt"],
  ...[
    "\u65e5\u672c.txt",
    "\u1100\u1161.txt",
    "\u{1f600}.txt",
    "a.b.c.txt",
    "no-extension",
    "\u00fcber",
    "sub/index.html",
    "page.html",
  ],
];

let production: StaticFiles;
let development: StaticFiles;

beforeAll(() => {
  for (const name of NAMES) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), name);
  }
  writeFileSync(join(root, "secret.txt"), "SECRET");
  production = staticFiles(folder, true)!;
  development = staticFiles(folder)!;
});
afterAll(() => rmSync(root, { recursive: true }));

/** The responses to a raw path, without and with the list of files. */
async function served(path: string): Promise<(string | null)[]> {
  const request = () => Object.assign(new Request("http://localhost/"), { _url: { pathname: path, search: "" } });
  const responses = [await production(request()), await development(request())];
  return Promise.all(responses.map((response) => response?.text() ?? null));
}

const everyByte = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

/** The encodings of a name that clients use, and others that are allowed. */
const ENCODINGS: Record<string, (name: string) => string> = {
  "as encodeURIComponent writes it": encodeURIComponent,
  "as the URL Standard writes it": (name) =>
    new URL(`http://a/${name.replace(/[%?#]/g, encodeURIComponent)}`).pathname.slice(1),
  "with every byte escaped": everyByte,
  "with escapes in capitals": (name) => everyByte(name).toUpperCase(),
  "in composed letters (NFC)": (name) => encodeURIComponent(name.normalize("NFC")),
  "in decomposed letters (NFD)": (name) => encodeURIComponent(name.normalize("NFD")),
};

describe.each(Object.entries(ENCODINGS))("%s", (_title, encode) => {
  test.each(NAMES)("the file %s is served, in production and in development", async (name) => {
    const path = `/${name.split("/").map(encode).join("/")}`;
    expect(await served(path)).toEqual([name, name]);
  });
});

test("a page is found without its extension, and an index by its folder, in any encoding", async () => {
  expect(await served("/%70age")).toEqual(["page.html", "page.html"]);
  expect(await served("/%73ub/")).toEqual(["sub/index.html", "sub/index.html"]);
  expect(await served("/%73ub")).toEqual(["sub/index.html", "sub/index.html"]);
});

test.each([
  "/a%2520b.txt2",
  "/%2541.txt2",
  "/sub%2findex.html",
  "/sub//index.html",
  "//page.html",
  "/sub//",
  "/./page.html",
])("%s is not a file", async (path) => {
  expect(await served(path)).toEqual([null, null]);
});

test("S167 no encoding of any name leaves the folder", async () => {
  const piece = fc.constantFrom(
    "..",
    ".",
    "/",
    "%2e",
    "%2f",
    "%5c",
    "\\",
    "%25",
    "2e",
    "2f",
    "secret.txt",
    "sub",
    "e\u0301",
    "%cc%81",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      expect(await served(`/${pieces.join("")}`)).not.toContain("SECRET");
    }),
    { numRuns: 1000 },
  );
});
