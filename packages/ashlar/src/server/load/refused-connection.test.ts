import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { CorsMiddleware, NO_ORIGIN_HEADERS, originHeaders, originTable, TrustedOrigins } from "../../http/index.ts";
import { ConnectionRefuser, type SheddingFacts } from "./refused-connection.ts";

const APP = "https://app.shop.example";

interface Refused {
  readonly port: number;
  /** The data that was read from accepted connections. */
  readonly accepted: { readonly socket: Socket; readonly head: string }[];
  refused: number;
  stillRefuses: boolean;
}

/** Accepts connections, and refuses all of them. */
async function refusing(more: Partial<SheddingFacts> = {}): Promise<Refused> {
  const origins = originTable(NO_ORIGIN_HEADERS, new TrustedOrigins());
  const facts = {
    maxMs: 1000,
    neverRefused: ["/up"],
    origins,
    pages: null,
    headersTimeoutMs: 15_000,
    maxHeaderBytes: 2048,
    ...more,
  };
  const refuser = new ConnectionRefuser(facts);
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, (socket) => {
    refuser.refuse(socket, {
      stillRefuses: () => outcome.stillRefuses,
      accept: (accepted, head) => void outcome.accepted.push({ socket: accepted, head }),
      refused: () => void outcome.refused++,
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const outcome: Refused = { port, accepted: [], refused: 0, stillRefuses: true };
  return outcome;
}

const withoutDate = (response: string): string => response.replace(/date: .*\r\n/i, "");

test("S150 a connection gets a response that is ready, and is closed once the client has read it", async () => {
  const outcome = await refusing();
  const { received, closed } = rawSocket(outcome.port, "GET /orders HTTP/1.1\r\nHost: a\r\n\r\n");
  await closed;
  expect(withoutDate(received())).toBe(
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: text/plain; charset=utf-8\r\n" +
      "content-length: 46\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n" +
      "The server is too busy; try again in a moment.",
  );
  expect(received()).toMatch(/^date: \w{3}, \d{2} \w{3} \d{4} [\d:]{8} GMT\r$/m);
  expect([outcome.refused, outcome.accepted]).toEqual([1, []]);
});

test("callers that accept JSON get a problem document, and HEAD requests get only the head", async () => {
  const { port } = await refusing();
  const asked = async (method: string) => {
    const request = `${method} / HTTP/1.1\r\nHost: a\r\nACCEPT:application/json\r\n\r\n`;
    const { received, closed } = rawSocket(port, request);
    await closed;
    return received();
  };
  const [head, body] = (await asked("GET")).split("\r\n\r\n");
  expect(head).toContain("content-type: application/problem+json");
  expect(JSON.parse(body!)).toMatchObject({ status: 503, code: "E_OVERLOADED" });
  expect(withoutDate(await asked("HEAD"))).toBe(`${withoutDate(`${head}\r\n\r\n`)}`);
});

test("S117 a preflight request of a trusted origin gets its permission here too, and pages may read the refusal", async () => {
  const trusted = new TrustedOrigins([APP]);
  const { port } = await refusing({ origins: originTable(originHeaders(new CorsMiddleware(), trusted), trusted) });
  const asked = async (method: string, origin: string) => {
    const fields = `Origin: ${origin}\r\nAccess-Control-Request-Method: POST`;
    const { received, closed } = rawSocket(port, `${method} / HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`);
    await closed;
    return received();
  };
  const preflight = await asked("OPTIONS", APP);
  expect(preflight).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
  expect(preflight).toMatch(/^access-control-allow-methods: GET, HEAD, POST, PUT, PATCH, DELETE\r$/im);
  const page = await asked("GET", APP);
  expect(page).toMatch(/^HTTP\/1\.1 503 /);
  expect(page).toMatch(/^access-control-allow-origin: https:\/\/app\.shop\.example\r$/im);
  for (const method of ["OPTIONS", "GET"]) {
    const other = await asked(method, "https://evil.example");
    expect(other).toMatch(/^HTTP\/1\.1 503 [\s\S]*^vary: Origin\r$/im);
    expect(other).not.toContain("access-control");
  }
});

test("S50 a health check is never refused: it continues with everything that was read so far", async () => {
  const outcome = await refusing();
  const text = "GET /up?from=nginx HTTP/1.1\r\nHost: a\r\nX-Name: \xe9\r\n\r\n";
  const { socket } = rawSocket(outcome.port, "");
  await once(socket, "connect");
  socket.write(text.slice(0, 30), "latin1");
  await nextTurn();
  socket.write(text.slice(30), "latin1");
  await expect.poll(() => outcome.accepted).toHaveLength(1);
  expect([outcome.accepted[0]!.head, outcome.refused]).toEqual([text, 0]);
  // Later data is for the process that takes the connection.
  const [{ socket: accepted }] = outcome.accepted as [Refused["accepted"][0]];
  let stolen = 0;
  accepted.on("data", () => stolen++);
  await new Promise<void>((done) => socket.write("more", () => done()));
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect([stolen, accepted.bytesRead]).toEqual([0, text.length]);
  accepted.destroy();
});

test("S150 a client that sends its request only after refusals have ended gets a response", async () => {
  const outcome = await refusing();
  const { socket } = rawSocket(outcome.port, "");
  await once(socket, "connect");
  outcome.stillRefuses = false;
  socket.write("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  await expect.poll(() => outcome.accepted.map(({ head }) => head)).toEqual(["GET /late HTTP/1.1\r\nHost: a\r\n\r\n"]);
  outcome.accepted[0]!.socket.destroy();
});

test("S61 a client that sends a body can read the refusal", async () => {
  const { port } = await refusing();
  const head = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n";
  const { received, socket, closed } = rawSocket(port, head);
  socket.pause();
  await new Promise<void>((resolve) => socket.write("x".repeat(8_000_000), () => resolve()));
  socket.resume();
  await closed;
  expect(received()).toMatch(/^HTTP\/1\.1 503 [\s\S]*try again in a moment\.$/);
});

test.each([
  ["a head that is too long", `GET / HTTP/1.1\r\nX: ${"x".repeat(3000)}`],
  ["something else than a request", "\x16\x03\x01\x02\r\n\r\n"],
  ["a pipelined second request", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /up HTTP/1.1\r\nHost: a\r\n\r\n"],
])("%s is refused once, and the connection is closed", async (_, text) => {
  const outcome = await refusing();
  const { received, closed } = rawSocket(outcome.port, text);
  await closed;
  expect(received().match(/HTTP\/1\.1 503 /g)).toHaveLength(1);
  expect([outcome.refused, outcome.accepted]).toEqual([1, []]);
});

test("a client that sends no head in time, or leaves, is forgotten", async () => {
  const outcome = await refusing({ headersTimeoutMs: 30 });
  const silent = rawSocket(outcome.port, "GET / HTTP/1.1\r\n");
  await silent.closed;
  const left = rawSocket(outcome.port, "GET / HT");
  left.socket.end();
  await left.closed;
  expect([silent.received(), left.received(), outcome.refused]).toEqual(["", "", 0]);
});
