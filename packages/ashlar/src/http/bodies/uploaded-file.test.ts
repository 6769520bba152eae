import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sanitizeFileName, UploadedFile } from "./uploaded-file.ts";

const upload = (clientName: string, text = "content", type = "text/plain") =>
  new UploadedFile(Buffer.from(text), clientName, type);

describe("sanitizeFileName", () => {
  test.each([
    ["report.pdf", "report.pdf"],
    ["Grüße 2026.txt", "Grüße 2026.txt"],
    ["e\u0301.txt", "é.txt"],
    ["/etc/passwd", "passwd"],
    ["../../../.ssh/authorized_keys", "authorized_keys"],
    ["C:\\Users\\me\\photo.jpg", "photo.jpg"],
    ["..\\..\\boot.ini", "boot.ini"],
    ["C:photo.jpg", "C_photo.jpg"],
    ["a.txt:hidden", "a.txt_hidden"],
    ['<a>"b"|c?*.txt', "_a__b__c__.txt"],
    ["nul\0byte.php\0.jpg", "nulbyte.php.jpg"],
    ["line\r\nbreak\u0085\u2028.txt", "linebreak.txt"],
    ["annexe\u202Efdp.exe", "annexefdp.exe"],
    ["zero\u200Bwidth\uFEFF.txt", "zerowidth.txt"],
    [".htaccess", "htaccess"],
    ["...", ""],
    ["..", ""],
    [". .", ""],
    ["", ""],
    ["dir/", ""],
    ["  spaces .txt  ", "spaces .txt"],
    ["trailing.txt. . .", "trailing.txt"],
    ["CON", "_CON"],
    ["nul.txt", "_nul.txt"],
    ["com1.log", "_com1.log"],
    ["console.log", "console.log"],
  ])("%j becomes %j", (name, expected) => {
    expect(sanitizeFileName(name)).toBe(expected);
  });

  test("a long name keeps its extension and whole characters, within 255 bytes", () => {
    expect(sanitizeFileName(`${"a".repeat(300)}.pdf`)).toBe(`${"a".repeat(251)}.pdf`);
    expect(sanitizeFileName(`${"€".repeat(100)}.pdf`)).toBe(`${"€".repeat(83)}.pdf`);
    expect(sanitizeFileName(`a.${"b".repeat(300)}`)).toBe(`a.${"b".repeat(253)}`);
  });

  test("any name results in one harmless path segment, which stays the same when sanitized again", () => {
    const piece = fc.oneof(
      fc.constantFrom("/", "\\", "..", ".", " ", ":", "\0", "\u202E", "con", "nul.", "\r\n"),
      fc.string({ unit: "grapheme" }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 300 }), (pieces) => {
        const name = sanitizeFileName(pieces.join(""));
        expect(name).not.toMatch(/[/\\:*?"<>|\p{Cc}]|^[. ]|[. ]$/u);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
        expect(sanitizeFileName(name)).toBe(name);
      }),
      { numRuns: 500 },
    );
  });
});

describe("UploadedFile", () => {
  test("is a File of the web platform", async () => {
    const file = upload("notes.TXT", "grüße", "Text/Plain");
    expect(file).toBeInstanceOf(File);
    expect({
      name: file.name,
      clientName: file.clientName,
      extension: file.extension,
      type: file.type,
      size: file.size,
      text: await file.text(),
      bytes: [...(await file.bytes())],
    }).toEqual({
      name: "notes.TXT",
      clientName: "notes.TXT",
      extension: "txt",
      type: "text/plain",
      size: 7,
      text: "grüße",
      bytes: [103, 114, 195, 188, 195, 159, 101],
    });
  });

  test("keeps nothing from a name that is not usable", () => {
    const file = upload("../..");
    expect([file.clientName, file.name, file.extension]).toEqual(["", "file", ""]);
  });

  test.each([
    ["archive.tar.gz", "gz"],
    ["README", ""],
    [".env", ""],
    ["shell.php.", "php"],
  ])("the extension of %s is %j", (name, expected) => {
    expect(upload(name).extension).toBe(expected);
  });
});

describe("moveTo", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "ashlar-upload-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("writes to a path, and creates missing folders", async () => {
    const path = join(folder, "a/b/avatar.png");
    expect(await upload("x.png").moveTo(path)).toBe(path);
    expect(await readFile(path, "utf8")).toBe("content");
  });

  test("writes into a folder under the sanitized name", async () => {
    expect(await upload("../../evil.sh").moveTo(folder)).toBe(join(folder, "evil.sh"));
    expect(await upload("a.txt").moveTo(`${join(folder, "new")}/`)).toBe(join(folder, "new/a.txt"));
    expect((await readdir(folder)).toSorted()).toEqual(["evil.sh", "new"]);
  });

  test("refuses to replace a file unless told to", async () => {
    const path = join(folder, "a.txt");
    await writeFile(path, "first");
    await expect(upload("a.txt").moveTo(path)).rejects.toMatchObject({ code: "E_FILE_EXISTS", status: 500 });
    await expect(upload("a.txt").moveTo(folder, { overwrite: false })).rejects.toMatchObject({ code: "E_FILE_EXISTS" });
    expect(await readFile(path, "utf8")).toBe("first");
    expect(await upload("a.txt", "second").moveTo(folder, { overwrite: true })).toBe(path);
    expect(await readFile(path, "utf8")).toBe("second");
  });

  test("does not write through a link that already exists there", async () => {
    const target = join(folder, "target.txt");
    await symlink(target, join(folder, "link.txt"));
    await expect(upload("link.txt").moveTo(folder)).rejects.toMatchObject({ code: "E_FILE_EXISTS" });
    await expect(readFile(target)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("of ten concurrent writes to one path, exactly one succeeds", async () => {
    const moves = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => upload("a.txt", String(index)).moveTo(join(folder, "one.txt"))),
    );
    expect(moves.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});
