import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { serve } from "srvx";
import { describe, expect, test } from "vitest";
import { type ContextOptions, makeContext } from "../../../test/support/http-context.ts";
import { AshlarError } from "../../support/index.ts";
import type { HttpResponse } from "./response.ts";

/** A complete response, in a form that can be compared. */
async function answer(build: (response: HttpResponse) => unknown, options: ContextOptions = {}) {
  const { response } = makeContext(options);
  await build(response);
  const built = response.toResponse();
  return { status: built.status, headers: [...built.headers], body: await built.text() };
}

/** The code of the error that a function throws. */
function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof AshlarError ? error.code : String(error);
  }
  return "no error";
}

const NOSNIFF = ["x-content-type-options", "nosniff"];

describe("content", () => {
  test("json, html and text have their type and status 200", async () => {
    expect(await answer((response) => response.json({ a: [1, null] }))).toEqual({
      status: 200,
      headers: [["content-type", "application/json; charset=utf-8"], NOSNIFF],
      body: '{"a":[1,null]}',
    });
    expect(await answer((response) => response.html("<p>é</p>"))).toEqual({
      status: 200,
      headers: [["content-type", "text/html; charset=utf-8"], NOSNIFF],
      body: "<p>é</p>",
    });
    expect(await answer((response) => response.text("é"))).toEqual({
      status: 200,
      headers: [["content-type", "text/plain; charset=utf-8"], NOSNIFF],
      body: "é",
    });
  });

  test("noContent is 204 without a type, and so is an untouched response", async () => {
    const empty = { status: 204, headers: [NOSNIFF], body: "" };
    expect(await answer((response) => response.noContent())).toEqual(empty);
    expect(await answer(() => null)).toEqual(empty);
  });

  test("forgetContent resets status, content and its headers, but keeps cookies and other headers", async () => {
    const { response } = makeContext();
    response
      .status(206)
      .header("ETag", '"1"')
      .header("X-Mine", "1")
      .header("Cache-Control", "private")
      .header("Refresh", "5; url=/next")
      .cookie("a", "b");
    response.download(new Uint8Array([1, 2]), "a.bin").redirect("/x");
    expect(response.forgetContent()).toBe(response);
    const answer = response.toResponse();
    expect([answer.status, answer.body]).toEqual([204, null]);
    expect(Object.fromEntries(answer.headers)).toEqual({
      "cache-control": "private",
      "set-cookie": "a=b; Path=/; HttpOnly; SameSite=Lax",
      "x-content-type-options": "nosniff",
      "x-mine": "1",
    });
  });

  test("the last content wins", async () => {
    expect(await answer((response) => response.download(new Uint8Array([1]), "a.bin").text("b"))).toEqual({
      status: 200,
      headers: [["content-type", "text/plain; charset=utf-8"], NOSNIFF],
      body: "b",
    });
  });

  test.each([204, 205, 304])("status %i has no content, even if some was set", async (status) => {
    expect(await answer((response) => response.json({}).status(status))).toEqual({
      status,
      headers: [NOSNIFF],
      body: "",
    });
  });

  test.each([100, 199, 600, 0, 200.5, Number.NaN])("%d is not a valid status", (status) => {
    expect(codeOf(() => makeContext().response.status(status))).toBe("E_INTERNAL");
  });

  test("a value that JSON cannot represent is refused, naming the route", () => {
    const { response } = makeContext({ route: { pattern: "/a", name: "a" } });
    expect(() => response.json(1n)).toThrow('The response of the route GET /a ("a") cannot be written as JSON: ');
  });

  test("a stream of any kind is sent piece by piece, with its type", async () => {
    expect(await answer((response) => response.stream(Readable.from(["a", "b"]), "text/csv"))).toEqual({
      status: 200,
      headers: [["content-type", "text/csv"], NOSNIFF],
      body: "ab",
    });
    const { headers } = await answer((response) => response.stream(new Blob(["x"]).stream()));
    expect(headers[0]).toEqual(["content-type", "application/octet-stream"]);
    expect(codeOf(() => makeContext().response.stream(Readable.from([]), "a\r\nb: c"))).toBe("E_INVALID_HEADER");
  });

  test.each(["text/event-stream", "Text/Event-Stream; charset=utf-8"])(
    "nginx passes events on as they come: %s",
    async (type) => {
      const { headers } = await answer((response) => response.stream(Readable.from(["data: 1\n\n"]), type));
      expect(headers).toEqual([["content-type", type], ["x-accel-buffering", "no"], NOSNIFF]);
    },
  );

  test("another response keeps its own cookies and Vary beside those that were set, and its other headers", () => {
    const { response } = makeContext();
    response.header("Set-Cookie", "a=1").cookie("b", "2").header("Vary", "Accept").header("X-Mine", "1");
    const own = { "Set-Cookie": "own=1", Vary: "Origin, ACCEPT-Language", "X-Mine": "own" };
    response.appendHeader("Vary", "accept-language");
    const { headers } = response.mergeInto(new Response("other", { headers: own }));
    expect(headers.getSetCookie()).toEqual(["own=1", "a=1", expect.stringMatching(/^b=2/)]);
    expect([headers.get("vary"), headers.get("x-mine")]).toEqual(["Origin, ACCEPT-Language, Accept", "own"]);
  });

  test.each<[string, (response: HttpResponse) => unknown]>([
    ["the response has no body", (response) => response.status(204).toResponse()],
    ["another response is returned", (response) => response.mergeInto(new Response("other"))],
    ["another body is returned", (response) => response.respond("other", "text/plain")],
  ])("S62 a stream that is not sent is closed: %s", (_, build) => {
    const { response } = makeContext();
    const source = Readable.from(["a"]);
    build(response.stream(source));
    expect(source.destroyed).toBe(true);
  });
});

describe("downloads", () => {
  test("bytes are sent under a file name", async () => {
    expect(await answer((response) => response.download(new TextEncoder().encode("hello"), "grüße.txt"))).toEqual({
      status: 200,
      headers: [
        ["content-disposition", "attachment; filename=\"gr__e.txt\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt"],
        ["content-length", "5"],
        ["content-type", "application/octet-stream"],
        NOSNIFF,
      ],
      body: "hello",
    });
  });

  test("a file is streamed under its own name or another, and its type can be set", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ashlar-download-"));
    const path = join(folder, "report.pdf");
    await writeFile(path, "x".repeat(100_000));
    const own = await answer((response) => response.download(path));
    expect([own.status, Object.fromEntries(own.headers), own.body.length]).toEqual([
      200,
      {
        "accept-ranges": "bytes",
        "content-disposition": 'attachment; filename="report.pdf"',
        "content-length": "100000",
        "content-type": "application/octet-stream",
        etag: expect.stringMatching(/^"186a0-[\da-f]+"$/),
        "last-modified": expect.stringMatching(/ GMT$/),
        "x-content-type-options": "nosniff",
      },
      100_000,
    ]);
    const named = await answer((response) =>
      response.header("Content-Type", "application/pdf").download(path, "2026.pdf"),
    );
    expect(Object.fromEntries(named.headers)).toMatchObject({
      "content-disposition": 'attachment; filename="2026.pdf"',
      "content-type": "application/pdf",
    });
    await rm(folder, { recursive: true });
  });

  test("a missing file is an E_NOT_FOUND", async () => {
    await expect(makeContext().response.download("/nowhere/at/all")).rejects.toMatchObject({ code: "E_NOT_FOUND" });
  });
});

describe("headers", () => {
  test("replace those with the same name, or are added to them", async () => {
    const { headers } = await answer((response) =>
      response.header("X-A", "1").header("x-a", 2).appendHeader("Link", "<a>").appendHeader("link", "<b>").text(""),
    );
    expect(headers).toEqual([
      ["content-type", "text/plain; charset=utf-8"],
      ["link", "<a>, <b>"],
      ["x-a", "2"],
      NOSNIFF,
    ]);
  });

  test("override those that come with the content", async () => {
    const { headers } = await answer((response) =>
      response.header("Content-Type", "application/problem+json").header("X-Content-Type-Options", "none").json({}),
    );
    expect(headers).toEqual([
      ["content-type", "application/problem+json"],
      ["x-content-type-options", "none"],
    ]);
  });

  test.each(["a\r\nSet-Cookie: x=1", "a\nb", "a\rb", "a\0b"])("S46 the value %j is refused when it is set", (value) => {
    const { response } = makeContext();
    expect(codeOf(() => response.header("x-a", value))).toBe("E_INVALID_HEADER");
    expect(codeOf(() => response.appendHeader("x-a", value))).toBe("E_INVALID_HEADER");
  });

  test("S46 a name with a line break is refused", () => {
    expect(codeOf(() => makeContext().response.header("a\r\nb", "c"))).toBe("E_INVALID_HEADER");
    expect(codeOf(() => makeContext().response.appendHeader("a: b", "c"))).toBe("E_INVALID_HEADER");
  });
});

test("S63 a response that shows the visitor's data stays private even if it then only reads a cookie", () => {
  const { response } = makeContext();
  response.dependsOnVisitor(true).dependsOnVisitor(false);
  expect(response.toResponse().headers.get("cache-control")).toBe("private, no-store");
});

describe("cookies", () => {
  const cookiesOf = (build: (response: HttpResponse) => unknown, options: ContextOptions = {}) => {
    const { response } = makeContext(options);
    build(response);
    return response.toResponse().headers.getSetCookie();
  };

  test("S20 have safe attributes, and are Secure if the application uses https", () => {
    const set = (response: HttpResponse) => response.cookie("a", "b c");
    expect(cookiesOf(set)).toEqual(["a=b%20c; Path=/; HttpOnly; SameSite=Lax"]);
    expect(cookiesOf(set, { appUrl: "https://shop.example" })).toEqual([
      "a=b%20c; Path=/; HttpOnly; Secure; SameSite=Lax",
    ]);
    expect(cookiesOf(set, { url: "https://shop.example/" })).toEqual([
      "a=b%20c; Path=/; HttpOnly; Secure; SameSite=Lax",
    ]);
  });

  test("are kept separately, and one with the same name, path and domain is replaced", () => {
    const set = (response: HttpResponse) =>
      response.cookie("a", "1").cookie("b", "2").cookie("a", "3").cookie("a", "4", { path: "/x" });
    expect(cookiesOf(set)).toEqual([
      "a=3; Path=/; HttpOnly; SameSite=Lax",
      "b=2; Path=/; HttpOnly; SameSite=Lax",
      "a=4; Path=/x; HttpOnly; SameSite=Lax",
    ]);
  });

  test("are removed by withoutCookie, even one just set", () => {
    const gone = "a=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax";
    expect(cookiesOf((response) => response.cookie("a", "1").withoutCookie("a"))).toEqual([gone]);
    expect(cookiesOf((response) => response.withoutCookie("a", { path: "/x" }))).toEqual([
      gone.replace("Path=/", "Path=/x"),
    ]);
    expect(cookiesOf((response) => response.withoutCookie("__Host-a"))).toEqual([
      "__Host-a=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax",
    ]);
  });

  test("S25 with CR, LF or a semicolon are refused when they are set", () => {
    const { response } = makeContext();
    for (const value of ["a\r", "a\n", "a;b"])
      expect(codeOf(() => response.cookie("a", value))).toBe("E_INVALID_COOKIE");
    expect(codeOf(() => response.cookie("a", "b", { path: "/;x" }))).toBe("E_INVALID_COOKIE");
    expect(response.toResponse().headers.getSetCookie()).toEqual([]);
  });
});

test("a real server sends several cookies and headers one by one, and a complete file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ashlar-served-"));
  const path = join(folder, "a.bin");
  await writeFile(path, Buffer.alloc(200_000, 7));
  const server = serve({
    port: 0,
    hostname: "127.0.0.1",
    silent: true,
    fetch: async (raw) => {
      const { response } = makeContext();
      if (raw.url.endsWith("/file")) return (await response.download(path)).toResponse();
      return response
        .cookie("a", "1")
        .cookie("b", "2")
        .appendHeader("x-a", "1")
        .appendHeader("x-a", "2")
        .json({})
        .toResponse();
    },
  });
  await server.ready();
  const answered = await fetch(server.url!);
  expect(answered.headers.getSetCookie()).toEqual([
    "a=1; Path=/; HttpOnly; SameSite=Lax",
    "b=2; Path=/; HttpOnly; SameSite=Lax",
  ]);
  expect([answered.headers.get("x-a"), answered.headers.get("content-length"), await answered.text()]).toEqual([
    "1, 2",
    "2",
    "{}",
  ]);
  const file = await fetch(new URL("/file", server.url));
  expect([
    file.headers.get("content-length"),
    Buffer.from(await file.arrayBuffer()).equals(Buffer.alloc(200_000, 7)),
  ]).toEqual(["200000", true]);
  const head = await fetch(new URL("/file", server.url), { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "200000", ""]);
  await server.close(true);
  await rm(folder, { recursive: true });
});
