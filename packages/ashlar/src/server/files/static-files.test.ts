import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { toNodeHandler } from "srvx/node";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createApplication } from "../../boot/application/create-application.ts";
import type { StaticFiles } from "../../kernel/dispatch/route-choice.ts";
import { Route } from "../../routing/index.ts";
import { staticFiles } from "./static-files.ts";

const root = mkdtempSync(join(tmpdir(), "ashlar-public-"));
const folder = join(root, "public");
const MODIFIED = new Date("2026-01-02T03:04:05Z");
let files: StaticFiles;

beforeAll(() => {
  const contents: Record<string, string> = {
    "public/app.css": "body{}",
    "public/deep/page.html": "<p>page</p>",
    "public/letters.txt": "abcdefghij",
    "public/with space.txt": "space",
    "public/ünïcode.txt": "unicode",
    "public/no-extension": "plain",
    "public/unknown.xyz": "bytes",
    "public/.env": "SECRET",
    "public/.git/config": "SECRET",
    "public/deep/.hidden": "SECRET",
    "public/.well-known/security.txt": "Contact: mailto:a@b.c",
    "secret.txt": "SECRET",
    "public-secrets/secret.txt": "SECRET",
  };
  for (const [name, text] of Object.entries(contents)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
    utimesSync(join(root, name), MODIFIED, MODIFIED);
  }
  symlinkSync(join(root, "secret.txt"), join(folder, "link.txt"));
  symlinkSync(root, join(folder, "linked-folder"));
  symlinkSync(join(folder, ".env"), join(folder, "innocent.txt"));
  symlinkSync(join(folder, "app.css"), join(folder, "inside.css"));
  files = staticFiles(folder)!;
});

afterAll(() => rmSync(root, { recursive: true }));

async function get(path: string, headers: Record<string, string> = {}, method = "GET") {
  const response = await files(new Request(`http://localhost${path}`, { headers, method }));
  return response === null ? null : { status: response.status, headers: response.headers, body: await response.text() };
}

describe("serving", () => {
  test("a file is sent with its type, length and validators", async () => {
    const answer = await get("/app.css");
    expect([answer!.status, answer!.body, Object.fromEntries(answer!.headers)]).toEqual([
      200,
      "body{}",
      {
        "accept-ranges": "bytes",
        "cache-control": "max-age=0",
        "content-length": "6",
        "content-type": "text/css; charset=utf-8",
        etag: `W/"6-${MODIFIED.getTime().toString(16)}"`,
        "last-modified": MODIFIED.toUTCString(),
        "x-content-type-options": "nosniff",
      },
    ]);
  });

  test.each([
    ["/deep/page.html", "<p>page</p>", "text/html; charset=utf-8"],
    ["/deep/page", "<p>page</p>", "text/html; charset=utf-8"],
    ["/with%20space.txt", "space", "text/plain; charset=utf-8"],
    ["/%C3%BCn%C3%AFcode.txt", "unicode", "text/plain; charset=utf-8"],
    ["/no-extension", "plain", "application/octet-stream"],
    ["/unknown.xyz", "bytes", "application/octet-stream"],
    ["/inside.css", "body{}", "text/css; charset=utf-8"],
    ["/.well-known/security.txt", "Contact: mailto:a@b.c", "text/plain; charset=utf-8"],
  ])("%s", async (path, body, type) => {
    const answer = await get(path);
    expect([answer!.status, answer!.body, answer!.headers.get("content-type")]).toEqual([200, body, type]);
  });

  test("HEAD has the headers and no body", async () => {
    const answer = await get("/letters.txt", {}, "HEAD");
    expect([answer!.status, answer!.body, answer!.headers.get("content-length")]).toEqual([200, "", "10"]);
  });

  test("null is returned for a path without a file", async () => {
    for (const path of ["/", "/nowhere.txt", "/deep", "/deep/", "/app.css/", "/app.css/x"])
      expect(await get(path)).toBeNull();
  });

  test("staticFiles returns null without a folder", () => {
    expect(staticFiles(join(root, "nowhere"))).toBeNull();
    expect(staticFiles(join(folder, "app.css"))).toBeNull();
  });

  test("an empty file is served", async () => {
    writeFileSync(join(folder, "empty.txt"), "");
    const answer = await get("/empty.txt");
    expect([answer!.status, answer!.body]).toEqual([200, ""]);
    expect((await get("/empty.txt", { range: "bytes=0-1" }))!.status).toBe(416);
  });
});

describe("a file requested with a fingerprint", () => {
  // The SHA-256 of "body{}".
  const MARK = createHash("sha256").update("body{}").digest("hex").slice(0, 10);
  const cacheControl = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await get(path, headers);
    return [answer!.status, answer!.headers.get("cache-control")];
  };

  test("may be cached forever if the fingerprint matches its content", async () => {
    const forGood = "public, max-age=31536000, immutable";
    expect(await cacheControl(`/app.css?v=${MARK}`)).toEqual([200, forGood]);
    expect(await cacheControl(`/app.css?v=${MARK}`, { "if-none-match": "*" })).toEqual([304, forGood]);
    const letters = createHash("sha256").update("abcdefghij").digest("hex").slice(0, 10);
    expect(await cacheControl(`/letters.txt?v=${letters}`, { range: "bytes=0-1" })).toEqual([206, forGood]);
    expect(await cacheControl(`/letters.txt?v=${letters}`, { range: "bytes=50-" })).toEqual([416, null]);
  });

  test.each([
    ["another fingerprint", "?v=0000000000"],
    ["a longer one", `?v=${MARK}0`],
    ["a shorter one", `?v=${MARK.slice(0, 9)}`],
    ["an empty one", "?v="],
    ["another field besides it", `?v=${MARK}&w=1`],
    ["another name", `?version=${MARK}`],
  ])("must be revalidated with %s", async (_, query) => {
    expect(await cacheControl(`/app.css${query}`)).toEqual([200, "max-age=0"]);
  });

  test("must be revalidated if it is too large to be hashed, even with its fingerprint", async () => {
    const marked = async (name: string, bytes: number) => {
      const content = Buffer.alloc(bytes, "a");
      writeFileSync(join(folder, name), content);
      return cacheControl(`/${name}?v=${createHash("sha256").update(content).digest("hex").slice(0, 10)}`);
    };
    expect(await marked("largest.txt", 4 * 1024 * 1024)).toEqual([200, "public, max-age=31536000, immutable"]);
    expect(await marked("too-large.txt", 4 * 1024 * 1024 + 1)).toEqual([200, "max-age=0"]);
  });

  test("is not served if it is hidden or outside of the folder, even with its fingerprint", async () => {
    const secret = createHash("sha256").update("SECRET").digest("hex").slice(0, 10);
    for (const path of ["/.env", "/link.txt", "/../secret.txt", "/%2e%2e/secret.txt"])
      expect(await get(`${path}?v=${secret}`)).toBeNull();
  });
});

describe("a file that has not changed is not sent again", () => {
  test("by its tag", async () => {
    const etag = (await get("/app.css"))!.headers.get("etag")!;
    for (const tags of [etag, `"other", ${etag}`, "*"]) {
      const answer = await get("/app.css", { "if-none-match": tags });
      expect([answer!.status, answer!.body, answer!.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await get("/app.css", { "if-none-match": '"other"' }))!.status).toBe(200);
  });

  test("by its date, unless there is a tag, which takes precedence", async () => {
    const since = (date: Date) => ({ "if-modified-since": date.toUTCString() });
    expect((await get("/app.css", since(MODIFIED)))!.status).toBe(304);
    expect((await get("/app.css", since(new Date(MODIFIED.getTime() - 1000))))!.status).toBe(200);
    expect((await get("/app.css", { "if-modified-since": "yesterday" }))!.status).toBe(200);
    expect((await get("/app.css", { ...since(MODIFIED), "if-none-match": '"other"' }))!.status).toBe(200);
  });

  test("a changed file has another tag", async () => {
    writeFileSync(join(folder, "changing.txt"), "one");
    const before = (await get("/changing.txt"))!.headers.get("etag")!;
    writeFileSync(join(folder, "changing.txt"), "three");
    const after = await get("/changing.txt", { "if-none-match": before });
    expect([after!.status, after!.body]).toEqual([200, "three"]);
  });
});

test("S62 a large file that is replaced before it is read is not sent with the headers of the old one", async () => {
  const path = join(folder, "large.txt");
  writeFileSync(path, "a".repeat(100_000));
  const answer = (await files(new Request("http://localhost/large.txt")))!;
  writeFileSync(path, "b".repeat(100_001));
  await expect(answer.text()).rejects.toThrow("The file changed while it was being sent.");
});

test("up to ten thousand paths of served files are remembered", async () => {
  const own = staticFiles(folder)!;
  const spellings = (name: string): string[] => {
    if (name === "") return [""];
    const escaped = `%${name.charCodeAt(0).toString(16)}`;
    const starts = new Set([name.charAt(0), escaped, escaped.toUpperCase()]);
    return [...starts].flatMap((start) => spellings(name.slice(1)).map((end) => start + end));
  };
  const paths = spellings("no-extension").slice(0, 10_001);
  for (const path of paths) {
    const raw = new Request(`http://localhost/${path}`, { headers: { "if-none-match": "*" } });
    expect((await own(raw))!.status).toBe(304);
  }
  expect(paths.filter((path) => !own.hasServed(`/${path}`))).toEqual([paths.at(-1)]);
});

describe("ranges", () => {
  test.each([
    ["bytes=0-2", 206, "abc", "bytes 0-2/10"],
    ["bytes=7-", 206, "hij", "bytes 7-9/10"],
    ["bytes=-3", 206, "hij", "bytes 7-9/10"],
    ["bytes=5-100", 206, "fghij", "bytes 5-9/10"],
    ["bytes=-100", 206, "abcdefghij", "bytes 0-9/10"],
    ["bytes=10-", 416, "", "bytes */10"],
    ["bytes=-0", 416, "", "bytes */10"],
    ["bytes=5-2", 200, "abcdefghij", null],
    ["bytes=0-1,3-4", 200, "abcdefghij", null],
    ["letters=0-1", 200, "abcdefghij", null],
    ["bytes=a-b", 200, "abcdefghij", null],
    ["bytes=-", 200, "abcdefghij", null],
  ])("%s is %i", async (range, status, body, contentRange) => {
    const answer = await get("/letters.txt", { range });
    expect([answer!.status, answer!.body, answer!.headers.get("content-range")]).toEqual([status, body, contentRange]);
  });

  test("a range of another version returns the whole file (If-Range)", async () => {
    const range = "bytes=0-2";
    expect((await get("/letters.txt", { range, "if-range": MODIFIED.toUTCString() }))!.body).toBe("abc");
    expect((await get("/letters.txt", { range, "if-range": new Date(0).toUTCString() }))!.body).toBe("abcdefghij");
    expect((await get("/letters.txt", { range, "if-range": '"some-tag"' }))!.body).toBe("abcdefghij");
    // The ETag is weak, and weak tags must not be used to combine ranges (RFC 9110 §13.1.5).
    const { etag } = Object.fromEntries((await get("/letters.txt"))!.headers);
    for (const tag of [etag!, etag!.replace("W/", ""), etag!.replace("a-", "b-")]) {
      const { status, body } = (await get("/letters.txt", { range, "if-range": tag }))!;
      expect([tag, status, body]).toEqual([tag, 200, "abcdefghij"]);
    }
    const garbage = (await get("/letters.txt", { range, "if-range": "garbage" }))!;
    expect([garbage.status, garbage.body]).toEqual([200, "abcdefghij"]);
  });
});

describe("other paths are not served", () => {
  test.each([
    "/.env",
    "/.git/config",
    "/deep/.hidden",
    "/%2eenv",
    "/.well-known/../.env",
    "/../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/%2e%2e%2fsecret.txt",
    "/deep/..%2f..%2fsecret.txt",
    "/..%5csecret.txt",
    "/..\\secret.txt",
    "/%252e%252e/secret.txt",
    "/..%00/secret.txt",
    "/app.css%00.txt",
    "/app%0a.css",
    "//etc/passwd",
    "/%2fetc/passwd",
    "/deep%2fpage.html",
    "/deep%2Fpage.html",
    "/deep%5cpage.html",
    "/../public-secrets/secret.txt",
    "/link.txt",
    "/linked-folder/secret.txt",
    "/innocent.txt",
    "/%",
    "/%zz",
    "/%ff",
    "/%c0%ae%c0%ae/secret.txt",
  ])("%s", async (path) => {
    const answer = await get(path);
    expect(answer?.body ?? null).toBeNull();
  });

  test("no path reveals a secret or crashes", async () => {
    const piece = fc.constantFrom(
      "..",
      ".",
      "/",
      "%2e",
      "%2f",
      "%5c",
      "\\",
      "secret.txt",
      "public",
      "deep",
      ".env",
      "link.txt",
      "%00",
      "%",
      "linked-folder",
      "-secrets",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        const raw = new Request("http://localhost/");
        // A server might pass on a path without normalizing it.
        Object.defineProperty(raw, "_url", { value: { pathname: `/${pieces.join("")}`, search: "" } });
        expect(await (await files(raw))?.text()).not.toBe("SECRET");
      }),
      { numRuns: 500 },
    );
  });

  test("a raw request target cannot leave the folder either", async () => {
    const handler = toNodeHandler(async (raw) => (await files(raw)) ?? new Response("none", { status: 404 }));
    const server = createServer(handler as RequestListener).listen(0);
    const { port } = server.address() as { port: number };
    const raw = (path: string) =>
      new Promise<string>((resolve, reject) => {
        request({ port, path }, (response) => response.on("data", (data) => resolve(String(data))))
          .on("error", reject)
          .end();
      });
    for (const path of ["/../secret.txt", "/..%2fsecret.txt", "/deep/../../secret.txt", "/.env", "//../secret.txt"]) {
      expect([path, await raw(path)]).toEqual([path, "none"]);
    }
    server.close();
  });
});

test("a large file is streamed, not held in memory", async () => {
  const path = join(folder, "large.bin");
  writeFileSync(path, Buffer.alloc(8 * 1024 * 1024, 1));
  const response = (await files(new Request("http://localhost/large.bin")))!;
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  expect(value!.byteLength).toBeLessThan(1024 * 1024);
  await reader.cancel();
  expect(statSync(path).size).toBe(8 * 1024 * 1024);
});

test("a large file that was partly read, but replaced by another response, is closed with that response", async () => {
  writeFileSync(join(folder, "partly.bin"), Buffer.alloc(1024 * 1024, 1));
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const handler = toNodeHandler(async (raw) => {
    reader = (await files(raw))!.body!.getReader();
    await reader.read();
    return new Response("another");
  });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const server = createServer((message, response) => {
    response.once("close", resolve);
    (handler as RequestListener)(message, response);
  }).listen(0);
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  expect(await (await fetch(`http://127.0.0.1:${port}/partly.bin`)).text()).toBe("another");
  await closed;
  expect((await reader!.read()).done).toBe(true);
});

test("a file is served only if no route has its path, and only for GET and HEAD", async () => {
  const application = await createApplication({
    root,
    environment: { APP_ENV: "test" },
    routes: [Route.post("/letters.txt", () => "posted")],
  });
  onTestFinished(() => application.shutdown());
  const status = async (method: string, path: string) =>
    (await application.fetch(new Request(`http://localhost${path}`, { method }))).status;
  const methods = ["GET", "HEAD", "POST", "PUT", "DELETE"];
  expect(await Promise.all(methods.map((method) => status(method, "/app.css")))).toEqual([200, 200, 404, 404, 404]);
  expect(await Promise.all(methods.map((method) => status(method, "/letters.txt")))).toEqual([405, 405, 200, 405, 405]);
});
