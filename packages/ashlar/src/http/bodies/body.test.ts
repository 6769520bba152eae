import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import fc from "fast-check";
import { type Server, serve } from "srvx";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readBody } from "../../../test/support/held-body.ts";
import type { AshlarError } from "../../support/index.ts";
import {
  type BodyLimits,
  DEFAULT_BODY_LIMITS,
  NO_BODY,
  type RequestBody,
  readBody as read,
  refuseTooLarge,
} from "./body.ts";
import { hasBody } from "./body-source.ts";
import { HeldBodies } from "./held-bodies.ts";

type Payload = NonNullable<RequestInit["body"]>;

const LIMITS: BodyLimits = { ...DEFAULT_BODY_LIMITS, maxBodyBytes: 100, maxMultipartBytes: 300 };

const post = (body: Payload | null, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", {
    method: "POST",
    body,
    headers,
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
  } as RequestInit);

/** A body sent in chunks, without a length. */
const streamed = (...pieces: readonly (string | Error)[]) => ReadableStream.from(inTurn(pieces));

function* inTurn(pieces: readonly (string | Error)[]) {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield Buffer.from(piece);
  }
}

const text = (body: RequestBody) => ("bytes" in body ? Buffer.from(body.bytes!).toString() : null);

describe("readBody of a platform's Request", () => {
  test.each([
    ["application/json", "json"],
    ["Application/JSON; charset=utf-8", "json"],
    ["application/problem+json", "json"],
    ["application/vnd.api+v1+json", "json"],
    ["application/x-www-form-urlencoded", "form"],
    ["application/x-www-form-urlencoded;charset=UTF-8", "form"],
    ["text/plain", "unsupported"],
    ["text/json", "unsupported"],
    ["application/jsonp", "unsupported"],
    ["application/json, text/plain", "unsupported"],
    ["application/+json", "unsupported"],
    ["image/svg+xml", "unsupported"],
    ["", "unsupported"],
  ])("a body of type %j is %s", async (type, kind) => {
    expect(await readBody(post(Buffer.from("{}"), { "content-type": type }), LIMITS)).toEqual({
      kind,
      bytes: expect.any(Uint8Array),
      type,
    });
  });

  test("multipart is parsed", async () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("f", new File(["x"], "x.txt"));
    const body = await readBody(post(form), { ...LIMITS, maxMultipartBytes: 1000 });
    expect(body).toEqual({
      kind: "multipart",
      size: expect.any(Number),
      bytes: null,
      fields: [["a", "1"]],
      files: [["f", expect.any(File)]],
    });
  });

  test("a missing or empty body counts as no body", async () => {
    const json = { "content-type": "application/json" };
    expect(await readBody(new Request("http://localhost/"), LIMITS)).toBe(NO_BODY);
    expect(await readBody(post(null, json), LIMITS)).toBe(NO_BODY);
    expect(await readBody(post("", json), LIMITS)).toBe(NO_BODY);
    expect(await readBody(post(streamed(), { "content-type": "multipart/form-data" }), LIMITS)).toBe(NO_BODY);
    expect([hasBody(new Request("http://localhost/")), hasBody(post(null)), hasBody(post("x"))]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("S42 a body up to the limit is read and a longer one refused, however it is chunked", async () => {
    expect(text(await readBody(post(streamed("a".repeat(60), "b".repeat(40))), LIMITS))).toBe(
      "a".repeat(60) + "b".repeat(40),
    );
    await expect(readBody(post(streamed("a".repeat(60), "b".repeat(41), "c")), LIMITS)).rejects.toMatchObject({
      code: "E_PAYLOAD_TOO_LARGE",
      status: 413,
      message: "The body is larger than 100 bytes.",
      headers: { connection: "close" },
    });
  });

  test("S42 reading stops at the limit", async () => {
    let cancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(50)),
      cancel: () => {
        cancelled = true;
      },
    });
    await expect(readBody(post(endless), LIMITS)).rejects.toMatchObject({ code: "E_PAYLOAD_TOO_LARGE" });
    await expect.poll(() => cancelled).toBe(true);
  });

  const part = (name: string, more = "") =>
    `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${"x".repeat(20)}\r\n`;

  test.each([
    ["too many fields", part("a") + part("b"), false],
    ["too many fields before the files that are left", part("a") + part("b"), true],
    ["too many files", part("a", '; filename="a"') + part("b", '; filename="b"'), false],
  ])("S42 reading stops at a form with %s", async (_, text, leavesFiles) => {
    let canceled = false;
    const endless = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from(text)),
      pull: (controller) => controller.enqueue(Buffer.from(part("more"))),
      cancel: () => {
        canceled = true;
      },
    });
    const limits = { ...LIMITS, maxMultipartBytes: 1_000_000, maxFields: 1, maxFiles: 1 };
    const raw = post(endless, { "content-type": "multipart/form-data; boundary=B" });
    await expect(readBody(raw, limits, { leavesFiles })).rejects.toMatchObject({ code: "E_INVALID_BODY" });
    await expect.poll(() => canceled).toBe(true);
  });

  test("S196 announced bytes that never arrived are not reserved once the body is complete", async () => {
    const bodies = new HeldBodies(DEFAULT_BODY_LIMITS);
    const held = bodies.begin();
    const headers = { "content-type": "application/json", "content-length": "50000" };
    await read(post(streamed("[1,", "2]"), headers), DEFAULT_BODY_LIMITS, held);
    expect(bodies.usage).toEqual({ memoryBytes: 5, diskBytes: 0 });
    await held.release();
    expect(bodies.usage.memoryBytes).toBe(0);
  });

  test("S196 the bytes of a form are held in addition to its files only as long as they are kept", async () => {
    const text = `${part("a", '; filename="a"')}${part("b", '; filename="b"')}--B--\r\n`;
    const form = () =>
      post(streamed(...text.match(/[\s\S]{1,10}/g)!), { "content-type": "multipart/form-data; boundary=B" });
    const usage = async (maxBodyBytes: number) => {
      const bodies = new HeldBodies(DEFAULT_BODY_LIMITS);
      const body = await read(form(), { ...DEFAULT_BODY_LIMITS, maxBodyBytes }, bodies.begin());
      return [(body as { readonly bytes: Uint8Array | null }).bytes?.length ?? null, bodies.usage.memoryBytes];
    };
    expect(await usage(text.length)).toEqual([text.length, text.length + 40]);
    expect(await usage(text.length - 1)).toEqual([null, 40]);
  });

  test("S42 a length beyond the limit is refused before a byte is read", async () => {
    const raw = post(streamed("x"), { "content-length": "101" });
    await expect(readBody(raw, LIMITS)).rejects.toMatchObject({ code: "E_PAYLOAD_TOO_LARGE" });
    expect(raw.bodyUsed).toBe(false);
  });

  test("S42 a false length does not extend the limit", async () => {
    const raw = post(streamed("x".repeat(101)), { "content-length": "5" });
    await expect(readBody(raw, LIMITS)).rejects.toMatchObject({ code: "E_PAYLOAD_TOO_LARGE" });
  });

  test("S42 multipart has its own limit", async () => {
    const form = new FormData();
    form.append("f", new File(["x".repeat(1000)], "x.txt"));
    await expect(readBody(post(form), LIMITS)).rejects.toMatchObject({ message: "The body is larger than 300 bytes." });
  });

  test("S42 a stream that breaks off is a 400", async () => {
    const raw = post(streamed("{", new Error("reset")), { "content-type": "application/json" });
    await expect(readBody(raw, LIMITS)).rejects.toMatchObject({
      code: "E_INVALID_BODY",
      status: 400,
      message: "The body ended before it was complete.",
    });
  });

  test("S42 a compressed body is a 415 that lists the supported codings, unless its type is not parsed", async () => {
    const gzip = { "content-encoding": "gzip" };
    await expect(readBody(post("{}", { ...gzip, "content-type": "application/json" }), LIMITS)).rejects.toMatchObject({
      code: "E_UNSUPPORTED_MEDIA_TYPE",
      status: 415,
      headers: { "accept-encoding": "identity" },
    });
    expect((await readBody(post("x", gzip), LIMITS)).kind).toBe("unsupported");
    const identity = { "content-encoding": "Identity", "content-type": "application/json" };
    expect((await readBody(post("{}", identity), LIMITS)).kind).toBe("json");
  });

  test("a body that was already read is the application's mistake, not the client's", async () => {
    const raw = post("x");
    await raw.text();
    await expect(readBody(raw, LIMITS)).rejects.toMatchObject({ code: "E_INTERNAL" });
  });

  test("any body is read completely, or refused if it is too large", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 5 }), async (chunks) => {
        const all = Buffer.concat(chunks);
        const raw = post(ReadableStream.from(chunks));
        const result = await readBody(raw, LIMITS).catch((error: AshlarError) => error.code);
        if (all.length > 100) expect(result).toBe("E_PAYLOAD_TOO_LARGE");
        else if (all.length === 0) expect(result).toBe(NO_BODY);
        else expect(Buffer.compare((result as { bytes: Uint8Array }).bytes, all)).toBe(0);
      }),
    );
  });

  test("S42 any type and bytes result in a body or a 4xx", async () => {
    const types = fc.oneof(
      fc.constantFrom(
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=a",
      ),
      fc.stringMatching(/^[ -~]*$/).map((tail) => `multipart/form-data; ${tail}`),
    );
    await fc.assert(
      fc.asyncProperty(types, fc.uint8Array({ maxLength: 400 }), async (type, bytes) => {
        const error = await readBody(post(bytes, { "content-type": type }), LIMITS).catch(
          (failure: unknown) => failure,
        );
        if (error instanceof Error) expect([400, 413]).toContain((error as AshlarError).status);
      }),
    );
  });
});

describe("readBody behind srvx", () => {
  let server: Server;
  let port: number;
  let seen: { hasBody: boolean; outcome: Promise<RequestBody | AshlarError> }[];

  beforeAll(async () => {
    server = serve({
      port: 0,
      hostname: "127.0.0.1",
      silent: true,
      fetch: async (raw) => {
        const outcome = readBody(raw, LIMITS).catch((error: AshlarError) => error);
        seen.push({ hasBody: hasBody(raw), outcome });
        const result = await outcome;
        if (result instanceof Error)
          return new Response(result.code, { status: result.status, headers: result.headers });
        return new Response(JSON.stringify([result.kind, text(result)]));
      },
    });
    await server.ready();
    port = (server.node!.server!.address() as AddressInfo).port;
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(() => server.close(true));

  async function send(options: RequestOptions, ...pieces: readonly string[]): Promise<[number, string]> {
    const outgoing = httpRequest({ port, host: "127.0.0.1", method: "POST", agent: false, ...options });
    // The server may close the connection while the rest of a refused body is still being sent.
    outgoing.on("error", () => {});
    const answered = once(outgoing, "response");
    for (const piece of pieces) outgoing.write(piece);
    outgoing.end();
    const [response] = (await answered) as [IncomingMessage];
    let body = "";
    for await (const chunk of response) body += chunk;
    return [response.statusCode!, body];
  }

  test("a body is read with a Content-Length, and in chunks without one", async () => {
    const headers = { "content-type": "application/json" };
    expect(await send({ headers: { ...headers, "content-length": 7 } }, '{"a":1}')).toEqual([
      200,
      '["json","{\\"a\\":1}"]',
    ]);
    expect(await send({ headers }, '{"a"', ":1}")).toEqual([200, '["json","{\\"a\\":1}"]']);
  });

  test("a GET request has a body only if one was sent", async () => {
    expect(await send({ method: "GET" })).toEqual([200, '["none",null]']);
    const headers = { "content-type": "application/json", "content-length": 2 };
    expect(await send({ method: "GET", headers }, "{}")).toEqual([200, '["json","{}"]']);
    expect(seen.map((one) => one.hasBody)).toEqual([false, true]);
  });

  test("a length of zero means no body", async () => {
    expect(await send({ headers: { "content-length": 0, "content-type": "application/json" } })).toEqual([
      200,
      '["none",null]',
    ]);
    expect(seen[0]!.hasBody).toBe(false);
  });

  test("S42 a body that is too large is a 413, by its declared length or while it arrives, and the connection is closed", async () => {
    expect(await send({ headers: { "content-length": 101 } }, "x".repeat(101))).toEqual([413, "E_PAYLOAD_TOO_LARGE"]);
    expect(await send({}, "x".repeat(60), "x".repeat(60))).toEqual([413, "E_PAYLOAD_TOO_LARGE"]);
  });

  test("S42 a body of exactly the limit is read", async () => {
    const whole = [200, JSON.stringify(["unsupported", "x".repeat(100)])];
    expect(await send({ headers: { "content-length": 100 } }, "x".repeat(100))).toEqual(whole);
    expect(await send({}, "x".repeat(60), "x".repeat(40))).toEqual(whole);
  });

  test("S42 a client that uses fetch sees the 413 for a body of two megabytes", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "x".repeat(2_000_000) });
    expect([response.status, await response.text()]).toEqual([413, "E_PAYLOAD_TOO_LARGE"]);
  });

  test("S42 a client that never ends its body is cut off at the limit", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = `40\r\n${"x".repeat(64)}\r\n`;
    const flood = setInterval(() => socket.write(chunk), 5);
    socket.on("error", () => {});
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    await once(socket, "close");
    clearInterval(flood);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("S42 a client that disconnects causes a 400, not a server error", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{");
    await expect.poll(() => seen.length).toBe(1);
    socket.destroy();
    expect(await seen[0]!.outcome).toMatchObject({
      code: "E_INVALID_BODY",
      status: 400,
      cause: expect.objectContaining({ code: "ECONNRESET" }),
    });
  });

  test("S42 an error in a stream that an adapter uses instead of Node's message is a 400 too", async () => {
    const message = new Readable({ read() {} });
    Object.assign(message, { headers: { "content-length": "5" }, httpVersionMajor: 1, complete: false });
    const outcome = readBody(Object.assign(post(null), { runtime: { node: { req: message } } }), LIMITS);
    message.destroy(new Error("reset"));
    await expect(outcome).rejects.toMatchObject({ code: "E_INVALID_BODY", cause: new Error("reset") });
  });

  /** A request whose body comes from a stream instead of a real message. */
  function behind(message: Readable, length = 5): Request {
    Object.assign(message, { headers: { "content-length": `${length}` }, httpVersionMajor: 1, complete: false });
    return Object.assign(post(null), { runtime: { node: { req: message } } });
  }

  test("S42 past the limit, nothing more is read and no listener remains", async () => {
    const message = new Readable({ read() {} });
    const outcome = readBody(behind(message), LIMITS);
    message.push(Buffer.alloc(101));
    await expect(outcome).rejects.toMatchObject({ code: "E_PAYLOAD_TOO_LARGE" });
    expect(message.isPaused()).toBe(true);
    expect(["data", "end", "close"].map((event) => message.listenerCount(event))).toEqual([0, 0, 0]);
    message.push("more");
    expect(message.readableLength).toBe(4);
  });

  test("S42 a client that disconnected before its body was read is a 400", async () => {
    const message = new Readable({ read() {} }).destroy();
    await once(message, "close");
    await expect(readBody(behind(message), LIMITS)).rejects.toMatchObject({ code: "E_INVALID_BODY" });
  });

  test("a body that was already read to its end is the application's mistake", async () => {
    const message = new Readable({ read() {}, autoDestroy: false });
    message.push(null);
    await once(message.resume(), "end");
    await expect(readBody(behind(message), LIMITS)).rejects.toMatchObject({ code: "E_INTERNAL" });
  });

  test("two requests on one connection each have their own body", async () => {
    const socket = connect(port, "127.0.0.1");
    const one = (body: string) =>
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    socket.write(one("[1]") + one("[2]"));
    let answers = "";
    socket.on("data", (data) => {
      answers += data;
    });
    await expect.poll(() => answers).toContain('["json","[2]"]');
    expect(answers).toContain('["json","[1]"]');
    socket.destroy();
  });
});

test("a body that was read for several routes may be as large as the matched route allows, and no larger", () => {
  const form = (length: number) => ({ kind: "form", bytes: new Uint8Array(length), type: "" }) as const;
  const multipart = (size: number) => ({ kind: "multipart", size, bytes: null, fields: [], files: [] }) as const;
  for (const [body, routeLimit] of [
    [form(100), null],
    [form(200), 200],
    [multipart(300), null],
    [multipart(200), 200],
    [NO_BODY, 1],
  ] as const) {
    expect(() => refuseTooLarge(body, LIMITS, routeLimit)).not.toThrow();
  }
  for (const [body, routeLimit] of [
    [form(101), null],
    [form(201), 200],
    [multipart(301), null],
    [multipart(201), 200],
  ] as const) {
    expect(() => refuseTooLarge(body, LIMITS, routeLimit)).toThrow(
      expect.objectContaining({ code: "E_PAYLOAD_TOO_LARGE" }),
    );
  }
});
