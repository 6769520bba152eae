import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeUntil } from "../../../test/support/cpu-time.ts";
import { heldBody } from "../../../test/support/held-body.ts";
import { AshlarError } from "../../support/index.ts";
import { type BodyLimits, DEFAULT_BODY_LIMITS } from "./body.ts";
import { FormParts, type MultipartForm, readForm } from "./multipart.ts";

const TYPE = "multipart/form-data; boundary=B";

async function parse(body: string | Uint8Array, type = TYPE, limits: Partial<BodyLimits> = {}): Promise<MultipartForm> {
  return parsePieces([Buffer.from(body as string)], type, limits);
}

async function parsePieces(
  pieces: readonly Uint8Array[],
  type = TYPE,
  limits: Partial<BodyLimits> = {},
): Promise<MultipartForm> {
  const left = [...pieces] as Uint8Array<ArrayBuffer>[];
  const source = { read: async () => left.shift() ?? null, close: () => {} };
  const held = heldBody(limits);
  return readForm(new FormParts(source, type, { ...DEFAULT_BODY_LIMITS, ...limits }, held), held);
}

/** Builds a complete body from parts, each with headers and content. */
const form = (...parts: readonly (readonly [head: string, content: string])[]) =>
  `${parts.map(([head, content]) => `--B\r\n${head}\r\n\r\n${content}\r\n`).join("")}--B--\r\n`;

const field = (name: string, value: string) => [`Content-Disposition: form-data; name="${name}"`, value] as const;

const fileHead = (name: string, fileName: string, type = "text/plain") =>
  `Content-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: ${type}`;

async function summary({ fields, files }: MultipartForm) {
  const described = files.map(async ([name, file]) => [name, file.clientName, file.type, await file.text()]);
  return { fields, files: await Promise.all(described) };
}

async function whatTheServerSees(data: FormData) {
  const response = new Response(data);
  return summary(await parse(await response.bytes(), response.headers.get("content-type")!));
}

const refused = (detail: string) => new AshlarError("E_INVALID_BODY", detail);

describe("parseMultipart", () => {
  test("reads what FormData writes", async () => {
    const data = new FormData();
    data.append("key", "value");
    data.append("test", "1");
    data.append("u[name]", "value");
    data.append("text", "line\r\nbreak grüße 😀");
    data.append("blank", "");
    data.append('na"me\r\n', "quoted");
    data.append("doc", new File(["grüße"], "grüße 😀.txt", { type: "text/plain" }));
    data.append("doc", new File([""], "empty.bin"));
    expect(await whatTheServerSees(data)).toEqual({
      fields: [
        ["key", "value"],
        ["test", "1"],
        ["u[name]", "value"],
        ["text", "line\r\nbreak grüße 😀"],
        ["blank", ""],
        ['na"me\r\n', "quoted"],
      ],
      files: [
        ["doc", "grüße 😀.txt", "text/plain", "grüße"],
        ["doc", "empty.bin", "application/octet-stream", ""],
      ],
    });
  });

  test("reads what other clients write: header names in any case, tokens, escapes, preamble, epilogue", async () => {
    const body = `preamble\r\n--B\r\ncontent-disposition: FORM-DATA; name=a\r\n\r\n1\r\n${form(
      [
        'CONTENT-DISPOSITION: form-data; filename="C:\\dir\\x\\"y.txt"; name="f"\r\ncontent-type: Text/HTML; charset=x',
        "z",
      ],
      ['Content-Disposition: form-data; name="b"\r\nContent-Type: text/plain; charset=utf-8\r\nX-Other: 1', "2"],
    )}epilogue`;
    expect(await summary(await parse(body))).toEqual({
      fields: [
        ["a", "1"],
        ["b", "2"],
      ],
      files: [["f", "x_y.txt", "text/html", "z"]],
    });
  });

  test("content that looks like a boundary is content", async () => {
    const tricky = "x--B\r\n--\r\n-B--\r\n\r\n--\r\n--b\r\n";
    expect((await parse(form(field("a", tricky), field("b", "x")))).fields).toEqual([
      ["a", tricky],
      ["b", "x"],
    ]);
  });

  test("an unselected file is left out, a selected empty one is not", async () => {
    const body = form([fileHead("none", "", "application/octet-stream"), ""], [fileHead("some", "a.txt"), ""]);
    expect((await summary(await parse(body))).files).toEqual([["some", "a.txt", "text/plain", ""]]);
  });

  test("a file sent with an empty name is still a file", async () => {
    const [file] = (await parse(form([fileHead("some", ""), "content"]))).files;
    expect([file?.[0], await file?.[1].text()]).toEqual(["some", "content"]);
  });

  test("a part whose file name is only in filename* is a file", async () => {
    const head = (value: string): [string, string] => [
      `Content-Disposition: form-data; name="f"; filename*=${value}`,
      "text",
    ];
    const { fields, files } = await parse(form(head("UTF-8''na%C3%AFve%20file.txt")), TYPE);
    expect([fields, files.map(([name, file]) => [name, file.name])]).toEqual([[], [["f", "naïve file.txt"]]]);
    for (const value of ["UTF-8''%zz", "UTF-8''%FF", "latin-1''a", "plain", '""']) {
      await expect(parse(form(head(value)), TYPE)).rejects.toMatchObject({ code: "E_INVALID_BODY" });
    }
  });

  test("a file's name is sanitized, even if filename* tries to avoid it", async () => {
    const body = form([
      `Content-Disposition: form-data; name="f"; filename="../../etc/pass\twd"; filename*=UTF-8''..%2Fevil`,
      "x",
    ]);
    expect((await summary(await parse(body))).files).toEqual([["f", "passwd", "", "x"]]);
  });

  test("a file's bytes are kept unchanged, in separate memory", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const body = Buffer.concat([
      Buffer.from(`--B\r\n${fileHead("f", "a.bin")}\r\n\r\n`),
      bytes,
      Buffer.from("\r\n--B--"),
    ]);
    const { files } = await parse(body);
    body.fill(0);
    expect(await files[0]![1].bytes()).toEqual(bytes);
  });

  test("a form is the same in whatever pieces it arrives, and whatever follows its end", async () => {
    const body = form(
      field("a", ""),
      [fileHead("f", "x.txt"), ""],
      field("b", "text"),
      [fileHead("f", ""), ""],
      [fileHead("f", "y.txt"), "content"],
      field("c", ""),
    );
    const bytes = Buffer.from(`${body}epilogue`);
    const whole = await summary(await parse(bytes));
    expect(whole.files).toHaveLength(2);
    for (let size = 1; size < 80; size++) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(await summary(await parsePieces(pieces)), `pieces of ${size}`).toEqual(whole);
    }
  });

  test("parts larger than the buffers between client and handler are read to their end", async () => {
    for (const sizes of [[200_000], [200_000, 200_000], [0, 200_000, 70_000, 0]]) {
      const parts = sizes.map((size) => [fileHead("f", "x.txt"), "x".repeat(size)] as const);
      const bytes = Buffer.from(`${form(...parts)}${"e".repeat(100_000)}`);
      for (const size of [16_384, 65_536, bytes.length]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const { files } = await parsePieces(pieces);
        expect(files.map(([, file]) => file.size)).toEqual(sizes);
      }
    }
  });

  test("a body without parts is an empty form", async () => {
    expect(await parse("--B--\r\n")).toEqual({ fields: [], files: [] });
  });
});

describe("S42 a malformed multipart body is refused", () => {
  const good = form(field("a", "1"));

  test.each([
    ["multipart/form-data"],
    ["multipart/form-data; boundary="],
    ['multipart/form-data; boundary=""'],
    ['multipart/form-data; boundary="B'],
    ["multipart/form-data; boundary=B; boundary=C"],
    [`multipart/form-data; boundary=${"B".repeat(71)}`],
    [`multipart/form-data; boundary=${"B".repeat(5000)}`],
    ['multipart/form-data; boundary="B "'],
    ["multipart/form-data; boundary=B\u00e9"],
  ])("%s has no valid boundary", async (type) => {
    await expect(parse(good, type)).rejects.toThrow(refused("The Content-Type has no valid boundary."));
  });

  test("a body cut off at any position", async () => {
    const whole = form(field("a", "1"), [fileHead("f", "x.txt"), "content"]);
    const end = whole.lastIndexOf("--");
    for (let length = 0; length < end; length++) {
      await expect(parse(whole.slice(0, length)), `cut at ${length}`).rejects.toMatchObject({ code: "E_INVALID_BODY" });
    }
  });

  test("a body whose boundary differs from the announced one", async () => {
    await expect(parse(good, "multipart/form-data; boundary=C")).rejects.toThrow(
      refused("The multipart body is malformed or cut off."),
    );
  });

  const noDisposition = "A part has no valid Content-Disposition with a name.";
  test.each([
    ["no Content-Disposition", "Content-Type: text/plain", noDisposition],
    ["another disposition", 'Content-Disposition: attachment; name="a"', noDisposition],
    ["no name", "Content-Disposition: form-data", noDisposition],
    ["a quote that stays open", 'Content-Disposition: form-data; name="a', noDisposition],
    ["two names", 'Content-Disposition: form-data; name="a"; name="b"', noDisposition],
    ["a line without a colon", 'nonsense\r\nContent-Disposition: form-data; name="a"', noDisposition],
    ["no headers", "X: y", noDisposition],
    [
      "two dispositions",
      'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"',
      "A part repeats a header.",
    ],
    ["headers beyond 8 KiB", `X: ${"x".repeat(9000)}\r\nContent-Disposition: form-data; name="a"`, noDisposition],
  ])("a part with %s", async (_, head, detail) => {
    await expect(parse(form([head, "1"]))).rejects.toThrow(refused(detail));
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "S43 a part with a header named %s",
    async (name) => {
      await expect(parse(form([`${name}: x`, "1"]))).rejects.toMatchObject({ code: "E_INVALID_BODY" });
      expect(Object.hasOwn(Object.prototype, "push")).toBe(false);
    },
  );

  test("a field, a name or a file name that is not UTF-8", async () => {
    const latin1 = (text: string) => Buffer.from(text, "latin1");
    for (const body of [form(field("a", "é")), form(field("é", "a")), form([fileHead("f", "é.txt"), "a"])]) {
      await expect(parse(latin1(body))).rejects.toThrow(refused("The body is not valid UTF-8."));
    }
  });
});

describe("S42 limits", () => {
  const fields = (count: number) => form(...Array.from({ length: count }, (_, index) => field(`f${index}`, "x")));
  const files = (count: number) =>
    form(...Array.from({ length: count }, (_, index) => [fileHead(`f${index}`, "a.txt"), "x"] as const));

  test("the allowed number of fields and files is read, one more is refused", async () => {
    const limits = { maxFields: 3, maxFiles: 2 };
    expect((await parse(fields(3), TYPE, limits)).fields).toHaveLength(3);
    expect((await parse(files(2), TYPE, limits)).files).toHaveLength(2);
    await expect(parse(fields(4), TYPE, limits)).rejects.toThrow(refused("There are more than 3 fields."));
    await expect(parse(files(3), TYPE, limits)).rejects.toThrow(refused("There are more than 2 files."));
    await expect(parse(fields(6), TYPE, limits)).rejects.toThrow(refused("There are more than 5 parts."));
  });

  test("fields may have no more bytes than a body that is not multipart; files may", async () => {
    const large = "x".repeat(60);
    const exact = await parse(form(field("a", large), field("b", "x".repeat(40))), TYPE, { maxBodyBytes: 100 });
    expect(exact.fields).toHaveLength(2);
    expect((await parse(form([fileHead("f", "a.txt"), large]), TYPE, { maxBodyBytes: 100 })).files).toHaveLength(1);
    await expect(parse(form(field("a", large), field("b", large)), TYPE, { maxBodyBytes: 100 })).rejects.toMatchObject({
      code: "E_PAYLOAD_TOO_LARGE",
      status: 413,
    });
  });

  test("ten megabytes of empty parts stop at the limit immediately", async () => {
    const body = Buffer.from("--B\r\nX: y\r\n\r\n\r\n".repeat(600_000));
    const time = await cpuTimeUntil(async () => {
      for (let i = 0; i < 5; i++)
        await expect(parse(body)).rejects.toThrow(refused("There are more than 1,020 parts."));
    });
    // Reading all parts would take a second each time.
    expect(time).toBeLessThan(1500);
  });
});

describe("any multipart body", () => {
  test("fields and files survive being written by FormData", async () => {
    // FormData writes a backslash in a name literally, but in the header's grammar it is an escape.
    const name = fc.string({ unit: "grapheme-ascii", minLength: 1 }).filter((text) => !text.includes("\\"));
    const entry = fc.tuple(name, fc.string({ unit: "grapheme" }), fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (entries) => {
        const data = new FormData();
        for (const [key, value, asFile] of entries) data.append(key, asFile ? new File([value], "f.txt") : value);
        // FormData itself writes every line break as CRLF, and a byte order mark is dropped when reading.
        const text = (value: string) => value.replace(/\r\n|\r|\n/g, "\r\n").replace(/^\uFEFF/, "");
        const seen = await whatTheServerSees(data);
        expect(seen.fields).toEqual(
          entries.filter(([, , asFile]) => !asFile).map(([key, value]) => [key, text(value)]),
        );
        expect(seen.files.map(([key, , , value]) => [key, value])).toEqual(
          entries.filter(([, , asFile]) => asFile).map(([key, value]) => [key, value.replace(/^\uFEFF/, "")]),
        );
      }),
    );
  });

  test("S42 any bytes result in a form or a 4xx of the framework", async () => {
    const piece = fc.oneof(
      fc.constantFrom("--B", "--B--", "\r\n", "\r\n\r\n", "--", "-", "\r", "\n", ":", '"', ";", "__proto__: x"),
      fc.constantFrom(
        "Content-Disposition: form-data; name=a",
        'Content-Disposition: form-data; name="f"; filename="x"',
      ),
      fc.string(),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 25 }), fc.boolean(), async (pieces, closed) => {
        const body = Buffer.from(`--B\r\n${pieces.join("")}${closed ? "\r\n--B--" : ""}`, "latin1");
        try {
          expect(await parse(body)).toEqual({ fields: expect.any(Array), files: expect.any(Array) });
        } catch (error) {
          expect(error).toMatchObject({ name: "AshlarError", code: "E_INVALID_BODY" });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
